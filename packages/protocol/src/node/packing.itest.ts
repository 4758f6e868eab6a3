import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

import { afterEach, describe, expect, it } from 'vitest';

import { FramedSocket } from './framed-socket.ts';
import { createPacker, type Packing, packings, unpackInput } from './packing.ts';

/** Waits until something holds, for what sockets do at their own time. */
async function until(holds: () => boolean): Promise<void> {
	for (let times = 0; !holds(); times++) {
		if (times > 2000) throw new Error('waited in vain');
		await new Promise<void>((resolve) => setTimeout(resolve, 5));
	}
}

/** A framed socket that is packed from its first frame on, and the socket at its other end. */
async function pair(packing: Packing, frameBytesMax = 1000) {
	const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
	await once(server, 'listening');
	const peer = connect((server.address() as { port: number }).port, '127.0.0.1');
	const [socket] = (await once(server, 'connection')) as [Socket];
	const told: string[] = [];
	let stop = (): void => undefined;
	const failed = (error: Error): void => {
		told.push(`cannot be unpacked: ${error.message}`);
		framed.destroy(error);
	};
	const framed: FramedSocket = new FramedSocket(
		socket,
		{
			frame: (text) => {
				told.push(text);
				if (text === 'hello') stop = unpackInput(framed, socket, packing, failed);
				if (text === 'stop') framed.pause();
			},
			fault: (code, message) => told.push(`${code} ${message.replace(/\d+/, 'N')}`),
			ended: () => {
				told.push('ended');
				framed.end();
			},
			closed: (error) => {
				stop();
				told.push(error === undefined ? 'closed' : 'failed');
			},
		},
		{ frameBytesMax },
	);
	peer.on('error', () => undefined);
	peer.write('hello\n');
	await until(() => told.length === 1);
	const packer = createPacker(packing);
	ends.push(() => {
		packer.destroy();
		peer.destroy();
		socket.destroy();
		server.close();
	});
	return { peer, packer, framed, told };
}

const ends: (() => void)[] = [];
afterEach(() => {
	for (const end of ends.splice(0)) end();
});

describe.each(packings())('a connection that is packed with %s', (packing) => {
	it('gives each write when it comes, and the last before the end', async () => {
		const { peer, packer, told } = await pair(packing);
		packer.pipe(peer);
		packer.write('one\ntwo\n');
		await until(() => told.length === 3);
		packer.write(`${'ä'.repeat(400)}\nthree\n`);
		await until(() => told.length === 5);
		packer.write('four\n', () => setImmediate(() => peer.end()));
		await until(() => told.includes('closed'));
		expect(told).toEqual(['hello', 'one', 'two', 'ä'.repeat(400), 'three', 'four', 'ended', 'closed']);
	});

	it('gives what came whole where the stream ends in its middle', async () => {
		const { peer, packer, told } = await pair(packing);
		const chunks: Buffer[] = [];
		packer.on('data', (chunk: Buffer) => chunks.push(chunk));
		await new Promise((resolve) => packer.write('one\n', resolve));
		await new Promise((resolve) => setImmediate(resolve));
		const whole = Buffer.concat(chunks).length;
		await new Promise((resolve) => packer.write(`${Math.random()}${'x'.repeat(300)}\n`, resolve));
		await new Promise((resolve) => setImmediate(resolve));
		peer.end(Buffer.concat(chunks).subarray(0, whole + 4));
		await until(() => told.includes('closed'));
		expect(told).toEqual(['hello', 'one', 'ended', 'closed']);
	});

	it('is dropped, after a fault, by what is no such stream', async () => {
		const { peer, told } = await pair(packing);
		peer.write('{"seq":1,"func":"event"}\n'.repeat(10));
		await until(() => told.includes('failed'));
		expect(told[1]).toMatch(/^cannot be unpacked/);
	});

	it('has the limit of frames for what comes out', async () => {
		const { peer, packer, told } = await pair(packing);
		packer.pipe(peer);
		packer.write(`${'x'.repeat(5_000_000)}\nnext\n`);
		await until(() => told.includes('next'));
		expect(told[1]).toBe('FRAME_TOO_LARGE a frame of at least N bytes is over the limit of 1000');
	});

	it('unpacks no more than is read, however much a few bytes stand for', async () => {
		const { peer, packer, framed, told } = await pair(packing);
		packer.pipe(peer);
		packer.write(`stop\n${`${'x'.repeat(99)}\n`.repeat(300_000)}last\n`);
		await until(() => told.includes('stop'));
		await new Promise<void>((resolve) => setTimeout(resolve, 200));
		expect(told).toHaveLength(2);
		expect(framed.bytesRead).toBeLessThan(200_000);
		framed.resume();
		await until(() => told.includes('last'));
		expect(told).toHaveLength(300_003);
	});
});
