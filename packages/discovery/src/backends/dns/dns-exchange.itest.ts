import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

import { systemClock } from '@spock/protocol/internal';
import { FakeClock, FakeDns, waitFor } from '@spock/testkit';
import { describe, expect, it, vi } from 'vitest';

import { DnsClient } from './dns-client.ts';
import { type DnsExchange, exchangeOverTcp, exchangeOverUdp } from './dns-exchange.ts';
import type { DnsReply } from './dns-message.ts';
import { DnsServers, formatServer } from './dns-servers.ts';

const reply = (bytes: Uint8Array): DnsReply => ({
	rcode: 'NOERROR',
	isTruncated: false,
	byteLength: bytes.length,
	answers: [],
	authorities: [],
	additionals: [],
});

const exchange = (port: number, more: Partial<DnsExchange> = {}): DnsExchange => ({
	server: { host: '127.0.0.1', port },
	query: Buffer.from('question'),
	read: reply,
	timeoutMs: 5000,
	signal: undefined,
	clock: systemClock,
	...more,
});

/** A server over TCP that does this with each connection. */
async function tcpServer(serve: (socket: Socket) => void) {
	const server = createServer((socket) => {
		socket.on('error', () => undefined);
		serve(socket);
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	return {
		port: (server.address() as AddressInfo).port,
		[Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
	};
}

/** A message as it travels over TCP. */
const served = (message: Buffer): Buffer => {
	const length = Buffer.alloc(2);
	length.writeUInt16BE(message.length);
	return Buffer.concat([length, message]);
};

describe('a question over TCP', () => {
	it('is answered byte by byte as well as at once', async () => {
		const bytes = served(Buffer.from('answer'));
		await using server = await tcpServer((socket) => {
			let sent = 0;
			const more = (): void => {
				if (sent < bytes.length) socket.write(bytes.subarray(sent, ++sent), () => setImmediate(more));
			};
			socket.once('data', more);
		});
		expect(await exchangeOverTcp(exchange(server.port))).toMatchObject({ byteLength: 6 });
	});

	it('fails when the connection ends too early, or the answer is to another question', async () => {
		await using early = await tcpServer((socket) => socket.once('data', () => socket.end(Buffer.from([0]))));
		await expect(exchangeOverTcp(exchange(early.port))).rejects.toThrow(/before its answer was complete/);
		await using other = await tcpServer((socket) => socket.once('data', () => socket.write(served(Buffer.from('x')))));
		await expect(exchangeOverTcp(exchange(other.port, { read: () => undefined }))).rejects.toThrow(
			/does not match the query/,
		);
	});
});

describe('a question over UDP', () => {
	it('goes to a server at an IPv6 address, and a second answer disturbs nobody', async () => {
		const server = createSocket('udp6');
		server.on('message', (_bytes, { port, address }) => {
			for (const text of ['answer', 'again!!']) server.send(Buffer.from(text), port, address);
		});
		server.bind(0, '::1');
		await once(server, 'listening');
		const at = { host: '::1', port: server.address().port };
		expect(await exchangeOverUdp(exchange(0, { server: at }))).toMatchObject({ byteLength: 6 });
		expect(formatServer(at)).toBe(`[::1]:${at.port}`);
		server.close();
	});

	it('that was aborted before is not asked, and one aborted meanwhile gives its reason', async () => {
		const signal = AbortSignal.abort('enough');
		for (const ask of [exchangeOverUdp, exchangeOverTcp]) {
			await expect(ask(exchange(1, { signal }))).rejects.toBe('enough');
		}
		await using dns = await FakeDns.listen();
		dns.fault = 'silent';
		const stop = new AbortController();
		const port = Number(dns.address.split(':')[1]);
		const asked = exchangeOverUdp(exchange(port, { signal: stop.signal, query: Buffer.alloc(12) }));
		stop.abort('changed my mind');
		await expect(asked).rejects.toBe('changed my mind');
	});
});

describe('many questions', () => {
	const client = (servers: readonly string[], more: object = {}): DnsClient =>
		new DnsClient({
			servers: new DnsServers(servers, systemClock),
			protocol: 'udp',
			timeoutMs: 5000,
			attemptTimeoutMs: 2000,
			clock: systemClock,
			...more,
		});

	it('at once are all answered, although only so many are on their way', async () => {
		await using dns = await FakeDns.listen();
		const asked = client([dns.address]);
		const names = Array.from({ length: 150 }, (_, number) => `service-${number}.test`);
		for (const name of names) dns.setService(name, ['10.0.0.1:80']);
		const replies = await Promise.all(names.map((name) => asked.ask({ name, type: 'SRV' }, undefined)));
		expect(replies.map(({ answers }) => answers[0]?.name)).toEqual(names);
	});

	it('an answer that may have been cut is taken where the server has no TCP, unless it says itself that it was cut', async () => {
		await using dns = await FakeDns.listen();
		dns.setService(
			'barista.test',
			Array.from({ length: 60 }, (_, number) => `10.0.0.${number}:80`),
		);
		await using proxy = await udpProxy(dns.address);
		const asked = client([proxy.address], { udpPayloadBytes: 1232 });
		dns.cutsSilently = true;
		const { answers } = await asked.ask({ name: 'barista.test', type: 'SRV' }, undefined);
		expect(answers.length).toBeGreaterThan(0);
		dns.cutsSilently = false;
		await expect(asked.ask({ name: 'barista.test', type: 'SRV' }, undefined)).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			message: expect.stringContaining('ECONNREFUSED'),
		});
	});

	it('an answer that may have been cut is taken where TCP is dropped, which is not tried again at once', async () => {
		await using dns = await FakeDns.listen();
		const hosts = (count: number) => Array.from({ length: count }, (_, number) => `10.0.0.${number}:80`);
		dns.setService('barista.test', hosts(11));
		await using tcp = await droppedTcp();
		await using proxy = await udpProxy(dns.address, tcp.port);
		const clock = new FakeClock();
		const timers = vi.spyOn(clock, 'setTimeout');
		const asked = client([proxy.address], { udpPayloadBytes: 1232, clock });
		const ask = () => asked.ask({ name: 'barista.test', type: 'SRV' }, undefined);
		const first = ask();
		await waitFor('an attempt over TCP', () => timers.mock.calls.length === 2);
		await clock.advance(2000);
		const { answers, byteLength } = await first;
		expect(answers).toHaveLength(11);
		expect(byteLength).toBeGreaterThan(1232 - 512);
		// The clock stands still, so that an attempt over TCP would not end.
		expect((await ask()).answers).toHaveLength(11);
		dns.setService('barista.test', hosts(60));
		const cut = expect(ask()).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			message: expect.stringContaining('TCP: no answer within'),
		});
		await waitFor('an attempt over TCP', () => timers.mock.calls.length === 5);
		await clock.advance(2000);
		await waitFor('the second round', () => timers.mock.calls.length === 7);
		await clock.advance(2000);
		await cut;
	});

	it('a server that cuts answers and whose TCP breaks off has not answered', async () => {
		await using dns = await FakeDns.listen();
		dns.setService(
			'barista.test',
			Array.from({ length: 60 }, (_, number) => `10.0.0.${number}:80`),
		);
		dns.cutsSilently = true;
		// TCP first: its ports are the ones that others take.
		const broken = createServer((socket) => socket.destroy());
		broken.listen(0, '127.0.0.1');
		await once(broken, 'listening');
		await using proxy = await udpProxy(dns.address, (broken.address() as AddressInfo).port);
		const asked = client([proxy.address], { udpPayloadBytes: 1232 });
		await expect(asked.ask({ name: 'barista.test', type: 'SRV' }, undefined)).rejects.toMatchObject({
			code: 'UNAVAILABLE',
		});
		await new Promise<void>((resolve) => broken.close(() => resolve()));
	});
});

/** Passes datagrams on to a name server, at a port where nobody listens over TCP. */
async function udpProxy(target: string, ownPort = 0) {
	const port = Number(target.split(':')[1]);
	const server = createSocket('udp4');
	const behind = new Set<ReturnType<typeof createSocket>>();
	server.on('message', (bytes, from) => {
		const socket = createSocket('udp4');
		behind.add(socket);
		socket.on('message', (answer) => server.send(answer, from.port, from.address));
		socket.send(bytes, port, '127.0.0.1');
	});
	server.bind(ownPort, '127.0.0.1');
	await once(server, 'listening');
	return {
		address: `127.0.0.1:${server.address().port}`,
		[Symbol.asyncDispose]: async () => {
			for (const socket of behind) socket.close();
			await new Promise<void>((resolve) => server.close(() => resolve()));
		},
	};
}

/** A port where the kernel drops what wants to connect, as a policy does: its process is stopped, and its queue is full. */
async function droppedTcp() {
	const code =
		"const s = require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(s.address().port))";
	const child = spawn(process.execPath, ['-e', code]);
	const [line] = await once(child.stdout, 'data');
	const port = Number(line);
	child.kill('SIGSTOP');
	const fillers = Array.from({ length: 4 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
	await once(fillers[1] as Socket, 'connect');
	return {
		port,
		[Symbol.asyncDispose]: async () => {
			for (const filler of fillers) filler.destroy();
			child.kill('SIGKILL');
			await once(child, 'exit');
		},
	};
}
