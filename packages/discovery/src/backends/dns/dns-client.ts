import { randomInt } from 'node:crypto';

import { SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';
import { messageOf } from '@spock/protocol/internal';

import { throwIfAborted } from '../../foundation/waiting.ts';
import { DnsNoConnectionError, DnsTimeoutError, exchangeOverTcp, exchangeOverUdp } from './dns-exchange.ts';
import { type DnsQuestion, type DnsReply, encodeQuery, readReply } from './dns-message.ts';
import { type DnsServer, type DnsServers, formatServer } from './dns-servers.ts';

/** The answer that crosses any network in one piece: https://www.dnsflagday.net/2020/ */
const UDP_PAYLOAD_BYTES = 1232;
/** On this machine an answer over UDP may be as long as UDP allows. */
const LOOPBACK_PAYLOAD_BYTES = 65_000;
/**
 * An answer that comes this close to what was allowed may have been cut without a mark: Consul does that unless its
 * `enable_truncate` is set. Of 60 instances it gave 19 in 1232 bytes, others each time, and said nothing. More than one SRV
 * record with what belongs to it. https://docs.hashicorp.com/consul/docs/v1.21.x/reference/agent/configuration-file/dns
 */
const NEARLY_FULL_BYTES = 512;
/** How often each server is asked before a question has failed: a datagram may be lost. */
const ROUNDS = 2;
/** Questions on their way at once; the others wait for their turn. Each holds a socket. */
const QUESTIONS_MAX = 64;
/** A server that cannot be reached over TCP is asked that way again after this. */
const TCP_AGAIN_MS = 60_000;

/** What a {@link DnsClient} needs; all resolved. */
export interface DnsClientOptions {
	/** The first that answers is asked first from then on. */
	readonly servers: DnsServers;
	readonly protocol: 'udp' | 'tcp';
	/** Deadline of a question over all its attempts, in milliseconds. */
	readonly timeoutMs: number;
	/** Deadline of one attempt at one server, in milliseconds. */
	readonly attemptTimeoutMs: number;
	/** How long an answer over UDP may be, 512 to 65000. Default: 65000 on this machine, else 1232. */
	readonly udpPayloadBytes?: number | undefined;
	readonly clock: Clock;
}

/** Questions to name servers: attempts, deadlines, the next server, TCP for what is too long. */
export class DnsClient {
	readonly #options: DnsClientOptions;
	/** Servers that did not understand EDNS. */
	readonly #plain = new WeakSet<DnsServer>();
	/** What became of TCP at a server that needed it: it has answered, or not before this time on the clock is it tried again. */
	readonly #tcp = new WeakMap<DnsServer, 'works' | number>();
	#preferred: DnsServer | undefined;
	#running = 0;
	readonly #turns: (() => void)[] = [];

	constructor(options: DnsClientOptions) {
		this.#options = options;
	}

	/**
	 * The answer to a question: records, or that there are none (`NXDOMAIN`, or `NOERROR` without records). Rejects with
	 * UNAVAILABLE when no server gave one (no answer, SERVFAIL, REFUSED, …), or with ABORTED.
	 */
	async ask(question: DnsQuestion, signal: AbortSignal | undefined): Promise<DnsReply> {
		if (this.#running < QUESTIONS_MAX) this.#running++;
		// Whoever has finished hands its turn on, so the count stays.
		else await new Promise<void>((resolve) => this.#turns.push(resolve));
		try {
			return await this.#askServers(question, signal);
		} finally {
			const next = this.#turns.shift();
			if (next === undefined) this.#running--;
			else next();
		}
	}

	async #askServers(question: DnsQuestion, signal: AbortSignal | undefined): Promise<DnsReply> {
		const { clock, timeoutMs } = this.#options;
		const deadlineAtMs = clock.now() + timeoutMs;
		const servers = this.#options.servers.get();
		const first = Math.max(0, servers.indexOf(this.#preferred as DnsServer));
		const failures = new Map<DnsServer, string>();
		let cause: unknown;
		for (let attempt = 0; attempt < servers.length * ROUNDS && clock.now() < deadlineAtMs; attempt++) {
			const server = servers[(first + attempt) % servers.length] as DnsServer;
			try {
				const reply = await this.#askServer(server, question, deadlineAtMs, signal);
				if (reply.rcode === 'NOERROR' || reply.rcode === 'NXDOMAIN') {
					this.#preferred = server;
					return reply;
				}
				failures.set(server, `answered ${reply.rcode}`);
			} catch (error) {
				throwIfAborted(signal);
				cause = error;
				failures.set(server, messageOf(error));
			}
		}
		this.#options.servers.failed();
		throw unavailable(question, failures, cause);
	}

	/** One attempt at one server; a second one at the same server where its answer asks for that. */
	async #askServer(
		server: DnsServer,
		question: DnsQuestion,
		deadlineAtMs: number,
		signal: AbortSignal | undefined,
	): Promise<DnsReply> {
		const isPlain = this.#plain.has(server);
		const { protocol } = this.#options;
		const reply = await this.#exchange(server, question, protocol, deadlineAtMs, signal);
		if (!isPlain && (reply.rcode === 'FORMERR' || reply.rcode === 'NOTIMP')) {
			// An old server: it refuses every message with EDNS.
			this.#plain.add(server);
			return this.#askServer(server, question, deadlineAtMs, signal);
		}
		const isFull = protocol === 'udp' && reply.byteLength > this.#payloadBytes(server) - NEARLY_FULL_BYTES;
		if (!reply.isTruncated && (isPlain || !isFull)) return reply;
		const tcp = this.#tcp.get(server);
		if (!reply.isTruncated && typeof tcp === 'number' && this.#options.clock.now() < tcp) return reply;
		try {
			const whole = await this.#exchange(server, question, 'tcp', deadlineAtMs, signal);
			this.#tcp.set(server, 'works');
			return whole;
		} catch (error) {
			const hasNone = error instanceof DnsNoConnectionError;
			if (hasNone) this.#tcp.set(server, this.#options.clock.now() + TCP_AGAIN_MS);
			// A server without TCP, or behind a policy that drops it, has sent all that it can, unless it marks the answer as cut itself.
			// Where TCP has worked before, the answer may have been cut, and the last known one is better.
			if (reply.isTruncated || !hasNone || tcp === 'works') throw error;
			return reply;
		}
	}

	#exchange(
		server: DnsServer,
		question: DnsQuestion,
		protocol: 'udp' | 'tcp',
		deadlineAtMs: number,
		signal: AbortSignal | undefined,
	): Promise<DnsReply> {
		const { clock, attemptTimeoutMs } = this.#options;
		const leftMs = Math.floor(deadlineAtMs - clock.now());
		if (leftMs < 1) return Promise.reject(new DnsTimeoutError('no time is left for another attempt'));
		// From the random numbers of the system: whoever can guess it can forge an answer.
		const id = randomInt(0x1_0000);
		const exchange = protocol === 'tcp' ? exchangeOverTcp : exchangeOverUdp;
		return exchange({
			server,
			query: encodeQuery(id, question, this.#payloadBytes(server)),
			read: (bytes) => readReply(bytes, id, question),
			timeoutMs: Math.min(leftMs, attemptTimeoutMs),
			signal,
			clock,
		});
	}

	/** What a question says that an answer over UDP may be long; 0 for a server that does not know EDNS. */
	#payloadBytes(server: DnsServer): number {
		if (this.#plain.has(server)) return 0;
		return this.#options.udpPayloadBytes ?? (isLoopback(server) ? LOOPBACK_PAYLOAD_BYTES : UDP_PAYLOAD_BYTES);
	}
}

function isLoopback({ host }: DnsServer): boolean {
	return host === '::1' || host.startsWith('127.');
}

function unavailable(
	{ name, type }: DnsQuestion,
	failures: ReadonlyMap<DnsServer, string>,
	cause: unknown,
): SpockError {
	const reasons = [...failures].map(([server, reason]) => `${formatServer(server)} ${reason}`);
	const message = `DNS returned no ${type} records of ${name}: ${reasons.join('; ') || 'no server was queried in time'}`;
	return new SpockError('UNAVAILABLE', message, {
		details: { name, type, servers: [...failures.keys()].map(formatServer) },
		...(cause !== undefined && { cause }),
	});
}
