import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { buffer } from 'node:stream/consumers';

import { describe, expect, it } from 'vitest';

import { SlowLink } from './slow-link.ts';

const CHUNK = Buffer.alloc(100_000, 'x');

describe('the slow link', () => {
	it('passes everything on, both ways, and counts what is sent', async () => {
		const received: Promise<Buffer>[] = [];
		const server = createServer({ allowHalfOpen: true }, (socket) => {
			received.push(buffer(socket));
			socket.end('answer');
		}).listen(0, '127.0.0.1');
		await once(server, 'listening');
		const link = await SlowLink.open((server.address() as AddressInfo).port);
		const answers = await Promise.all(
			[1, 2, 3].map(async () => {
				const client = connect({ port: link.port, host: '127.0.0.1', allowHalfOpen: true });
				client.end(CHUNK);
				return String(await buffer(client));
			}),
		);
		expect(answers).toEqual(['answer', 'answer', 'answer']);
		for (const bytes of await Promise.all(received)) expect(bytes.equals(CHUNK)).toBe(true);
		expect(link.bytes).toBe(3 * CHUNK.length);
		await link[Symbol.asyncDispose]();
		server.close();
		await once(server, 'close');
	});

	it('is not faster than its rate', async () => {
		const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
		await once(server, 'listening');
		const link = await SlowLink.open((server.address() as AddressInfo).port, 1_000_000);
		const startedMs = performance.now();
		const client = connect({ port: link.port, host: '127.0.0.1' });
		client.end(CHUNK);
		await once(client.resume(), 'close');
		expect(performance.now() - startedMs).toBeGreaterThan(85);
		await link[Symbol.asyncDispose]();
		server.close();
	});
});
