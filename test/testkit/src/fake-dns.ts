import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';

import { type Answer, decode, encode, type Packet } from 'dns-packet';

import { freePort } from './free-ports.ts';

const HOST = '127.0.0.1';
const NO_EDNS_BYTES = 512;
/** Another process may have the port of one protocol where the other is free. */
const LISTENS_MAX = 10;
const RCODES = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 } as const;

/** One record of the zone. */
export type FakeDnsRecord =
	| { readonly type: 'SRV'; readonly name: string; readonly ttl?: number; readonly data: FakeSrv }
	| { readonly type: 'A' | 'AAAA' | 'CNAME'; readonly name: string; readonly ttl?: number; readonly data: string };

/** The data of an SRV record. */
export interface FakeSrv {
	readonly priority?: number;
	readonly weight?: number;
	readonly port: number;
	readonly target: string;
}

/** One question as it came. */
export interface FakeDnsQuestion {
	readonly name: string;
	readonly type: string;
	readonly protocol: 'udp' | 'tcp';
	/** What EDNS says that an answer over UDP may be long; 0 without EDNS. */
	readonly payloadBytes: number;
	readonly id: number;
	/** The port it came from. */
	readonly port: number;
}

/**
 * What it does wrong: answers with a code, not at all, or only after strays (another id, another question, garbage) that are
 * no answer. `no-edns` refuses EDNS as old servers do.
 */
export type FakeDnsFault = 'silent' | 'SERVFAIL' | 'REFUSED' | 'strays-first' | 'no-edns';

/** A small name server of this test, over UDP and TCP at one port of 127.0.0.1, with the zone that the test gives it. */
export class FakeDns implements AsyncDisposable {
	/** Every question so far. */
	readonly questions: FakeDnsQuestion[] = [];
	/** Whether addresses of SRV targets stand in the additional section. */
	addsAddresses = true;
	/** Seconds for which "no such name" may be believed; undefined leaves out who says so. */
	negativeTtl: number | undefined = 0;
	/** Longest answer over UDP, whatever a question allows. */
	udpBytesMax = 1232;
	/** True: leaves out what does not fit, without saying so, as Consul does. */
	cutsSilently = false;
	fault: FakeDnsFault | undefined = undefined;
	/** Names whose questions are answered by SERVFAIL. */
	readonly broken: Set<string> = new Set();
	#records: readonly FakeDnsRecord[] = [];
	#udp: UdpSocket | undefined;
	#tcp: Server | undefined;
	readonly #sockets = new Set<Socket>();
	#port = 0;

	/** Starts at a free port. */
	static async listen(): Promise<FakeDns> {
		const dns = new FakeDns();
		await dns.listen();
		return dns;
	}

	/** `127.0.0.1:port` */
	get address(): string {
		return `${HOST}:${this.#port}`;
	}

	/** Listens again at the port it had, or at a free one the first time. */
	async listen(): Promise<void> {
		for (let attempt = 1; ; attempt++) {
			try {
				await this.#bind(this.#port === 0 ? await freePort() : this.#port);
				return;
			} catch (error) {
				await this.stop();
				if (attempt >= LISTENS_MAX) throw error;
			}
		}
	}

	/** Stops listening: questions are refused by the kernel. */
	async stop(): Promise<void> {
		const [udp, tcp] = [this.#udp, this.#tcp];
		this.#udp = undefined;
		this.#tcp = undefined;
		for (const socket of this.#sockets) socket.destroy();
		if (udp !== undefined) await new Promise<void>((resolve) => udp.close(() => resolve()));
		if (tcp?.listening) await new Promise<void>((resolve) => tcp.close(() => resolve()));
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.stop();
	}

	/** The whole zone. */
	set(records: readonly FakeDnsRecord[]): void {
		this.#records = records;
	}

	/** Makes these `host:port` the SRV records of a name, each with a target of its own; none takes the name out. */
	setService(name: string, hosts: readonly string[], ttl = 0): void {
		const isOld = (record: FakeDnsRecord): boolean => record.name === name || record.name.endsWith(`.of.${name}`);
		this.#records = [
			...this.#records.filter((record) => !isOld(record)),
			...hosts.flatMap((text): FakeDnsRecord[] => {
				const [host = '', port = ''] = text.split(':');
				const target = `${host.replaceAll('.', '-')}.of.${name}`;
				return [
					{ type: 'SRV', name, ttl, data: { port: Number(port), target } },
					{ type: 'A', name: target, ttl, data: host },
				];
			}),
		];
	}

	async #bind(port: number): Promise<void> {
		const tcp = createServer((socket) => this.#serve(socket));
		this.#tcp = tcp;
		await new Promise<void>((resolve, reject) => {
			tcp.once('error', reject);
			tcp.listen(port, HOST, resolve);
		});
		this.#port = (tcp.address() as { readonly port: number }).port;
		const udp = createSocket('udp4');
		this.#udp = udp;
		udp.on('message', (bytes, from) => this.#answerDatagram(udp, bytes, from));
		udp.bind(this.#port, HOST);
		await once(udp, 'listening');
	}

	#answerDatagram(udp: UdpSocket, bytes: Buffer, { port, address }: RemoteInfo): void {
		const query = decode(bytes);
		const payloadBytes = payloadBytesOf(query);
		const send = (message: Buffer): void => udp.send(message, port, address);
		this.#answer(query, { protocol: 'udp', payloadBytes, port }, send, (answer) => {
			const bytesMax = Math.max(NO_EDNS_BYTES, Math.min(payloadBytes, this.udpBytesMax));
			let message = encode(answer);
			for (let cut = answer; this.cutsSilently && message.length > bytesMax; message = encode(cut)) {
				cut = { ...cut, answers: cut.answers?.slice(1) ?? [], additionals: cut.additionals?.slice(1) ?? [] };
			}
			if (message.length <= bytesMax) return message;
			return encode({ ...answer, flags: (answer.flags ?? 0) | TRUNCATED, answers: [], additionals: [] });
		});
	}

	#serve(socket: Socket): void {
		let received: Buffer = Buffer.alloc(0);
		this.#sockets.add(socket);
		socket.on('close', () => this.#sockets.delete(socket));
		socket.on('error', () => undefined);
		socket.on('data', (chunk) => {
			received = Buffer.concat([received, chunk]);
			if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
			const query = decode(received.subarray(2));
			const from = { protocol: 'tcp', payloadBytes: payloadBytesOf(query), port: socket.remotePort ?? 0 } as const;
			this.#answer(query, from, (message) => {
				const length = Buffer.alloc(2);
				length.writeUInt16BE(message.length);
				// In two pieces, as a network may deliver it.
				socket.write(Buffer.concat([length, message.subarray(0, 1)]));
				setImmediate(() => socket.write(message.subarray(1)));
			});
		});
	}

	#answer(
		query: Packet,
		from: Pick<FakeDnsQuestion, 'protocol' | 'payloadBytes' | 'port'>,
		send: (message: Buffer) => void,
		toBytes: (answer: Packet) => Buffer = encode,
	): void {
		const [question] = query.questions ?? [];
		if (question === undefined) return;
		const { id = 0 } = query;
		this.questions.push({ name: question.name, type: question.type, id, ...from });
		const fault = this.broken.has(question.name) ? 'SERVFAIL' : this.fault;
		if (fault === 'silent') return;
		const questions = query.questions ?? [];
		const failure = (rcode: keyof typeof RCODES): Packet => ({ type: 'response', id, flags: RCODES[rcode], questions });
		const refusal = fault === 'no-edns' && from.payloadBytes > 0 ? 'FORMERR' : fault;
		if (refusal === 'SERVFAIL' || refusal === 'REFUSED' || refusal === 'FORMERR') {
			send(encode(failure(refusal)));
			return;
		}
		const answer = this.#look(question.name, question.type, failure('NXDOMAIN'));
		if (fault === 'strays-first') {
			send(Buffer.from('garbage'));
			send(encode({ ...failure('NXDOMAIN'), id: (id + 1) & 0xffff }));
			send(encode({ ...failure('NXDOMAIN'), questions: [{ ...question, name: 'another.name' }] }));
			send(encode({ ...failure('NXDOMAIN'), type: 'query' }));
		}
		send(toBytes(answer));
	}

	#look(name: string, type: string, unknown: Packet): Packet {
		const isNamed = (record: FakeDnsRecord): boolean => record.name.toLowerCase() === name.toLowerCase();
		const named = this.#records.filter(isNamed);
		const alias = named.find((record) => record.type === 'CNAME');
		const found = named.filter((record) => record.type === type);
		const { negativeTtl } = this;
		const authorities: Answer[] = negativeTtl === undefined ? [] : [soa(negativeTtl)];
		if (named.length === 0) return { ...unknown, authorities };
		const known: Packet = { ...unknown, flags: 0 };
		if (alias !== undefined && found.length === 0) {
			const onward = this.#look(String(alias.data), type, unknown);
			return { ...onward, answers: [toAnswer(alias), ...(onward.answers ?? [])] };
		}
		if (found.length === 0) return { ...known, authorities };
		const targets = found.flatMap((record) => (record.type === 'SRV' ? [record.data.target] : []));
		const added = this.#records.filter(({ name: owner, type: kind }) => kind !== 'SRV' && targets.includes(owner));
		return { ...known, answers: found.map(toAnswer), additionals: this.addsAddresses ? added.map(toAnswer) : [] };
	}
}

const TRUNCATED = 1 << 9;

function payloadBytesOf(query: Packet): number {
	const options = (query.additionals ?? []).find(({ type }) => type === 'OPT');
	return (options as { readonly udpPayloadSize?: number } | undefined)?.udpPayloadSize ?? 0;
}

function toAnswer({ name, type, ttl = 0, data }: FakeDnsRecord): Answer {
	return { name, type, ttl, data: type === 'SRV' ? { priority: 0, weight: 0, ...(data as FakeSrv) } : data } as Answer;
}

function soa(minimum: number): Answer {
	const data = { mname: 'ns.test', rname: 'root.test', serial: 1, refresh: 1, retry: 1, expire: 1, minimum };
	return { type: 'SOA', name: 'test', ttl: 3600, data };
}
