import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

import { createPacker, packings } from '@spock/protocol/node';
import { createSidecar } from '@spock/sidecar';
import { freePort, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { PACKED_INPUTS_MAX } from '../src/connection/packed-input.ts';
import { FakeSource } from './fake-source.ts';
import { RawClient } from './raw-client.ts';

const [BEST = 'deflate'] = packings();
const HELLO = { versions: [1], features: ['push', 'deflate', 'zstd'] };

/** A sidecar at a socket and at TCP. */
async function run() {
	const place = await tempSocket();
	const port = await freePort();
	const reasons: string[] = [];
	const sidecar = createSidecar({
		source: new FakeSource(),
		listen: [{ address: { path: place.path } }, { address: { host: '127.0.0.1', port } }],
		limits: { graceMs: 0, drainTimeoutMs: 0 },
		observer: { connectionClosed: (_id, reason) => reasons.push(reason) },
	});
	await sidecar.start();
	return {
		path: place.path,
		reasons,
		dial: async (): Promise<Socket> => {
			const socket = connect(port, '127.0.0.1');
			await once(socket, 'connect');
			return socket;
		},
		[Symbol.asyncDispose]: async () => {
			sidecar.terminate();
			sidecar.terminate();
			await sidecar.ended;
			await place[Symbol.asyncDispose]();
		},
	};
}

/** The features in an answer to hello. */
async function hello(socket: Socket): Promise<readonly string[]> {
	socket.write(`${JSON.stringify({ id: 1, func: 'hello', data: HELLO })}\n`);
	return (await answer(socket)).data.features;
}

async function answer(socket: Socket): Promise<{ readonly data: { readonly features: readonly string[] } }> {
	const [chunk] = (await once(socket, 'data')) as [Buffer];
	return JSON.parse(chunk.toString());
}

describe('what a client sends', () => {
	it('is packed by the best of what it has offered, and by that for good', async () => {
		await using running = await run();
		const socket = await running.dial();
		expect((await hello(socket)).at(-1)).toBe(BEST);
		const packer = createPacker(BEST);
		packer.pipe(socket);
		packer.write('{"id":2,"func":"ping","data":"packed"}\n');
		expect(await answer(socket)).toEqual({ id: 2, data: 'packed' });
		packer.write(`{"id":3,"func":"hello","data":${JSON.stringify(HELLO)}}\n`);
		expect((await answer(socket)).data.features.at(-1)).toBe(BEST);
		socket.destroy();
	});

	it('is not packed at a unix domain socket, nor without an offer', async () => {
		await using running = await run();
		await using client = await RawClient.open(running.path);
		const { data } = (await client.ask(1, 'hello', HELLO)) as { data: { features: string[] } };
		expect(data.features).toEqual(['push', 'goaway', 'window', 'deltas', 'parts', 'lists']);
		const socket = await running.dial();
		socket.write('{"id":1,"func":"hello","data":{"versions":[1],"features":["push"]}}\n');
		expect((await answer(socket)).data.features).toEqual(['push', 'goaway', 'window', 'deltas', 'parts', 'lists']);
		socket.destroy();
	});

	it('ends its connection where it cannot be unpacked', async () => {
		await using running = await run();
		const socket = await running.dial();
		await hello(socket);
		socket.write('{"id":2,"func":"ping"}\n'.repeat(10));
		await waitFor('the end', () => running.reasons.length === 1);
		expect(running.reasons).toEqual(['error']);
		socket.destroy();
	});

	it('is packed on so many connections at a time', async () => {
		await using running = await run();
		const sockets: Socket[] = [];
		for (let count = 0; count < PACKED_INPUTS_MAX; count++) {
			const socket = await running.dial();
			sockets.push(socket);
			expect(await hello(socket)).toContain(BEST);
		}
		const further = await running.dial();
		expect(await hello(further)).not.toContain(BEST);
		sockets[0]?.destroy();
		await waitFor('the end', () => running.reasons.length === 1);
		const next = await running.dial();
		expect(await hello(next)).toContain(BEST);
		for (const socket of [...sockets, further, next]) socket.destroy();
	});
});
