import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';

import { waitFor } from '@spock/testkit';
import { Registry } from 'prom-client';
import { afterEach, expect, it } from 'vitest';

import { AdminServer, type AdminServerOptions } from './admin-server.ts';
import { StatusSite } from './status-site.ts';

const servers: AdminServer[] = [];

afterEach(async () => {
	for (const server of servers.splice(0)) await server.close();
});

async function start(options: Partial<AdminServerOptions> = {}): Promise<{ port: number; server: AdminServer }> {
	const readiness = () => ({ ready: false, reasons: ['a reason'] });
	const server = new AdminServer({ host: '127.0.0.1', port: 0, registry: new Registry(), readiness, ...options });
	servers.push(server);
	return { server, port: Number((await server.start()).split(':').at(-1)) };
}

interface Asked {
	readonly path?: string;
	readonly method?: string;
	readonly headers?: Readonly<Record<string, string>>;
}

function ask(port: number, { path = '/livez', method = 'GET', headers = {} }: Asked = {}): Promise<IncomingMessage> {
	return new Promise((resolve, reject) => {
		const asked = request({ port, host: '127.0.0.1', path, method, headers, agent: false }, (response) => {
			response.resume();
			resolve(response);
		});
		asked.once('error', reject).end();
	});
}

it('an address that other machines can reach must be allowed', async () => {
	for (const host of ['0.0.0.0', '::', '10.0.0.1', 'spock.example']) {
		await expect(start({ host })).rejects.toThrow(
			'can be reached from other machines: use 127.0.0.1, or allow it with --admin-any',
		);
	}
	const { port } = await start({ host: '0.0.0.0', allowRemote: true });
	expect((await ask(port)).statusCode).toBe(200);
});

it('answers to its own addresses, and to no name that a site could give it', async () => {
	const { port } = await start({ allowedHosts: ['spock.test'] });
	const statusFor = async (host: string) => (await ask(port, { headers: { host } })).statusCode;
	expect(await statusFor(`127.0.0.1:${port}`)).toBe(200);
	expect(await statusFor('spock.test')).toBe(200);
	for (const path of ['/', '/livez', '/readyz', '/metrics', '/status.json', '/events']) {
		expect((await ask(port, { path, headers: { host: `rebound.example:${port}` } })).statusCode).toBe(421);
	}
});

it('every answer, good or bad, has the headers that bind a browser', async () => {
	const failed: unknown[] = [];
	const site = {
		streamPath: '/events',
		page: (path: string) => {
			if (path === '/broken') throw new Error('a secret of ours');
			return undefined;
		},
		stream: () => undefined,
		close: () => undefined,
	};
	const { port } = await start({ site, failed: (error) => failed.push(error) });
	const answers = await Promise.all([
		ask(port),
		ask(port, { path: '/readyz' }),
		ask(port, { path: '/metrics', method: 'HEAD' }),
		ask(port, { path: '/nothing' }),
		ask(port, { path: '/broken' }),
		ask(port, { method: 'POST' }),
		ask(port, { path: `/${'x'.repeat(3000)}` }),
		ask(port, { headers: { host: 'evil.example' } }),
		ask(port, { headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' } }),
	]);
	expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 503, 200, 404, 500, 405, 414, 421, 403]);
	for (const { headers } of answers) {
		expect(headers).toMatchObject({
			'x-content-type-options': 'nosniff',
			'referrer-policy': 'no-referrer',
			'x-frame-options': 'DENY',
			'cross-origin-resource-policy': 'same-origin',
			'cache-control': 'no-store',
		});
		const policy = headers['content-security-policy'] as string;
		expect(policy).toContain("default-src 'none'");
		expect(policy).toContain("frame-ancestors 'none'");
		expect(policy).not.toMatch(/unsafe|\*|https?:/);
		expect(headers['access-control-allow-origin']).toBeUndefined();
	}
	expect(answers[5]?.headers.allow).toBe('GET, HEAD');
	expect(failed).toMatchObject([{ message: 'a secret of ours' }]);
	const broken = await fetch(`http://127.0.0.1:${port}/broken`);
	expect(await broken.text()).not.toContain('secret');
});

it('who sends half a request is cut off, and headers without end are refused', async () => {
	const { port } = await start();
	const slow = connect(port, '127.0.0.1');
	slow.write('GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n');
	const long = connect(port, '127.0.0.1');
	long.write(`GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${'x'.repeat(20_000)}`);
	const told = async (socket: Socket): Promise<string> => {
		let text = '';
		socket.on('data', (chunk) => {
			text += String(chunk);
		});
		socket.on('error', () => undefined);
		await once(socket, 'close');
		return text.split('\r\n')[0] ?? '';
	};
	expect(await Promise.all([told(slow), told(long)])).toEqual([
		'HTTP/1.1 408 Request Timeout',
		'HTTP/1.1 431 Request Header Fields Too Large',
	]);
});

it('there are at most 256 connections: one that has no request makes room for the next', async () => {
	const { port } = await start();
	const closed = new Set<number>();
	const sockets: Socket[] = [];
	for (let number = 0; number <= 256; number++) {
		const socket = connect(port, '127.0.0.1');
		socket.on('close', () => closed.add(number)).on('error', () => undefined);
		await once(socket, 'connect');
		sockets.push(socket);
	}
	await waitFor('the oldest to make room', () => closed.size > 0);
	expect([...closed]).toEqual([0]);
	expect((await ask(port)).statusCode).toBe(200);
	for (const socket of sockets) socket.destroy();
});

it('a stream ends with the port, and tells so', async () => {
	const clock = { now: () => 0, wallNow: () => 0, setTimeout: () => ({}), clearTimeout: () => undefined };
	const sample = { overview: {}, services: new Map(), connections: {}, changes: [] } as never;
	const model = { current: () => sample, detail: () => undefined, client: () => undefined };
	const site = new StatusSite({ model, clock, failed: () => undefined });
	const { port, server } = await start({ site });
	const response = await fetch(`http://127.0.0.1:${port}/events`);
	expect(response.headers.get('content-type')).toBe('text/event-stream');
	const head = await fetch(`http://127.0.0.1:${port}/events`, { method: 'HEAD' });
	expect([head.status, await head.text()]).toEqual([200, '']);
	const reading = response.text();
	await server.close();
	const text = await reading.catch((error: Error) => `${error.message}`);
	expect(text).toContain('event: end\ndata: {}');
});
