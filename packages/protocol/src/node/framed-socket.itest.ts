import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';

import { settle, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { FramedSocket } from './framed-socket.ts';

interface Pair extends AsyncDisposable {
	readonly near: Socket;
	readonly far: Socket;
}

async function socketPair(): Promise<Pair> {
	const place = await tempSocket();
	const server = createServer({ allowHalfOpen: true }).listen(place.path);
	await once(server, 'listening');
	const near = createConnection(place.path);
	const [far] = (await once(server, 'connection')) as [Socket];
	return {
		near,
		far,
		[Symbol.asyncDispose]: async () => {
			near.destroy();
			far.destroy();
			server.close();
			await place[Symbol.asyncDispose]();
		},
	};
}

function collect(socket: Socket): { framed: FramedSocket; told: unknown[]; closed: Promise<Error | undefined> } {
	const told: unknown[] = [];
	let settle: (error: Error | undefined) => void;
	const closed = new Promise<Error | undefined>((resolve) => {
		settle = resolve;
	});
	const framed = new FramedSocket(socket, {
		frame: (text) => told.push(text),
		fault: (code) => told.push({ fault: code }),
		ended: () => told.push('ended'),
		closed: (error) => settle(error),
	});
	return { framed, told, closed };
}

describe('FramedSocket', () => {
	it('sends all frames of a tick in one write', async () => {
		await using pair = await socketPair();
		const { framed } = collect(pair.near);
		const writes: string[] = [];
		const write = pair.near.write.bind(pair.near);
		pair.near.write = ((text: string, ...rest: []) => {
			writes.push(text);
			return write(text, ...rest);
		}) as typeof pair.near.write;
		framed.write('1\n');
		framed.write('2\n');
		expect(writes).toEqual([]);
		expect(framed.bufferedBytes).toBe(4);
		await Promise.resolve();
		expect(writes).toEqual(['1\n2\n']);
	});

	it('does not hold back more than some kilobytes until the end of the tick', async () => {
		await using pair = await socketPair();
		const { framed } = collect(pair.near);
		framed.write(`${'x'.repeat(10_000)}\n`);
		expect(framed.bytesWritten).toBe(10_001);
	});

	it('carries every character to the other side, ASCII or not', async () => {
		await using pair = await socketPair();
		const near = collect(pair.near);
		const far = collect(pair.far);
		near.framed.write('{"a":"plain"}\n');
		await Promise.resolve();
		near.framed.write('{"a":"é€😀 ÿ"}\n');
		near.framed.end();
		pair.near.resume();
		far.framed.write('bye\n');
		far.framed.end();
		await near.closed;
		expect(far.told).toEqual(['{"a":"plain"}', '{"a":"é€😀 ÿ"}', 'ended']);
		expect(near.told).toEqual(['bye', 'ended']);
		expect(far.framed.bytesRead).toBe(near.framed.bytesWritten);
	});

	it('hands a long line over as the peer takes it, then what was written behind it, and then ends', async () => {
		await using pair = await socketPair();
		const near = collect(pair.near);
		const long = `"${'é€😀x'.repeat(400_000)}"\n`;
		let longestWrite = 0;
		const write = pair.near.write.bind(pair.near);
		pair.near.write = ((text: string, ...rest: []) => {
			longestWrite = Math.max(longestWrite, text.length);
			return write(text, ...rest);
		}) as typeof pair.near.write;
		near.framed.write('"first"\n');
		near.framed.write(long);
		near.framed.write('"between"\n');
		near.framed.write(long);
		near.framed.write('"last"\n');
		const bytes = Buffer.byteLength(long) * 2 + Buffer.byteLength('"first"\n"between"\n"last"\n');
		near.framed.end();
		expect(near.framed.bufferedBytes + near.framed.bytesWritten).toBeGreaterThanOrEqual(bytes);
		expect(near.framed.bytesWritten).toBeLessThan(bytes);
		// The peer reads from now on.
		const chunks: Buffer[] = [];
		pair.far.on('data', (chunk: Buffer) => chunks.push(chunk));
		await once(pair.far, 'end');
		const sent = Buffer.concat(chunks).toString();
		expect(sent === `"first"\n${long}"between"\n${long}"last"\n`).toBe(true);
		expect(near.framed.bytesWritten).toBe(bytes);
		expect(near.framed.bufferedBytes).toBe(0);
		expect(longestWrite).toBeLessThanOrEqual(65_537);
	});

	it('reports that the peer has taken everything only after the last slice', async () => {
		await using pair = await socketPair();
		let drained = 0;
		const framed: FramedSocket = new FramedSocket(pair.near, {
			frame: () => undefined,
			fault: () => undefined,
			drained: () => {
				drained++;
				expect(framed.bufferedBytes).toBe(0);
			},
			closed: () => undefined,
		});
		framed.write(`${'x'.repeat(5_000_000)}\n`);
		expect(framed.bufferedBytes).toBeGreaterThan(1_000_000);
		pair.far.resume();
		await waitFor('everything is taken', () => drained > 0);
		expect(framed.bytesWritten).toBe(5_000_001);
	});

	it('forgets a long line when it is destroyed', async () => {
		await using pair = await socketPair();
		const { framed, closed } = collect(pair.near);
		framed.write(`${'x'.repeat(5_000_000)}\n`);
		framed.destroy();
		await closed;
		expect(framed.bufferedBytes).toBe(0);
		expect(framed.bytesWritten).toBeLessThan(5_000_000);
	});

	it('writes bytes behind a long line, and all of it before it is muted', async () => {
		await using pair = await socketPair();
		const { framed } = collect(pair.near);
		const long = `"${'x'.repeat(3_000_000)}"\n`;
		framed.write(long);
		framed.writeBytes(Buffer.from('"bytes"\n'));
		framed.write(long);
		framed.mute();
		framed.write('"late"\n');
		const chunks: Buffer[] = [];
		let length = 0;
		const expected = `${long}"bytes"\n${long}`;
		pair.far.on('data', (chunk: Buffer) => {
			chunks.push(chunk);
			length += chunk.length;
		});
		await waitFor('all bytes', () => length >= expected.length);
		expect(Buffer.concat(chunks).toString() === expected).toBe(true);
	});

	it('tells of its end once, with the reason it was given, and nothing after destroy', async () => {
		await using pair = await socketPair();
		const { framed, told, closed } = collect(pair.near);
		pair.far.write('late\n');
		const reason = new Error('slow-consumer');
		framed.destroy(reason);
		framed.write('x\n');
		expect(await closed).toBe(reason);
		expect(told).toEqual([]);
		expect(framed.closed).toBe(true);
		expect(framed.bufferedBytes).toBe(0);
	});

	it('what is written after its end goes nowhere and is not kept', async () => {
		await using pair = await socketPair();
		const { framed } = collect(pair.near);
		framed.write('last\n');
		framed.end();
		framed.write('late\n');
		expect(framed.bytesWritten).toBe(5);
		await Promise.resolve();
		expect(framed.bytesWritten).toBe(5);
	});

	it('turns an error of the socket into its reason and lets none escape, not even after the close', async () => {
		await using pair = await socketPair();
		const { closed } = collect(pair.near);
		const error = new Error('reset');
		pair.near.destroy(error);
		expect(await closed).toBe(error);
		pair.near.emit('error', new Error('after the close'));
	});

	it('while it is paused tells neither frames that were read already, nor the end behind them', async () => {
		await using pair = await socketPair();
		const told: unknown[] = [];
		const framed: FramedSocket = new FramedSocket(pair.far, {
			frame: (text) => {
				told.push(text);
				framed.pause();
			},
			fault: () => undefined,
			ended: () => told.push('ended'),
			closed: () => undefined,
		});
		pair.near.end('1\n2\n3\n');
		await waitFor('the first', () => told.length === 1);
		await settle();
		expect(told).toEqual(['1']);
		framed.resume();
		framed.resume();
		expect(told).toEqual(['1', '2', '3']);
		await settle();
		expect(told).toEqual(['1', '2', '3']);
		framed.resume();
		await waitFor('the end', () => told.length === 4);
		expect(told).toEqual(['1', '2', '3', 'ended']);
	});
});
