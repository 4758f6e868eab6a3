import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

import { expect, it } from 'vitest';

import { SidecarUnderAttack } from './sidecar-under-attack.ts';

const PRODUCERS_MAX = 4096;
const PER_CONNECTION = 64;
/** Of the heap: a producer that is known, with its call line. */
const PRODUCER_BYTES_MAX = 4096;
/** What 64 consumers of a megabyte each would leave in the output of their connection; less than half of that may be. */
const CONSUMERS_BYTES = 64 << 20;

interface Reply {
	readonly id?: number;
	readonly data?: { readonly epoch?: number };
	readonly error?: { readonly code: string; readonly message: string };
}

/** A connection that speaks frames by hand. */
class Hand implements Disposable {
	readonly socket: Socket;
	readonly #waiting = new Map<number, (reply: Reply) => void>();
	#id = 0;

	private constructor(socket: Socket) {
		this.socket = socket;
		createInterface({ input: socket }).on('line', (text) => {
			const reply = JSON.parse(text) as Reply;
			this.#waiting.get(reply.id ?? -1)?.(reply);
		});
	}

	static async connect(path: string): Promise<Hand> {
		const socket = connect(path);
		await once(socket, 'connect');
		const hand = new Hand(socket);
		await hand.ask('hello', { versions: [1], client: 'hand', features: ['push', 'events'] });
		return hand;
	}

	ask(func: string, data: object): Promise<Reply> {
		const id = ++this.#id;
		const reply = new Promise<Reply>((resolve) => this.#waiting.set(id, resolve));
		this.socket.write(`${JSON.stringify({ id, func, data })}\n`);
		return reply;
	}

	[Symbol.dispose](): void {
		this.socket.destroy();
	}
}

it('a table of producers that is full refuses the next one, and says why; those that it has go on', async () => {
	await using sidecar = await SidecarUnderAttack.start();
	const before = await sidecar.facts();
	const hands = await Promise.all(
		Array.from({ length: PRODUCERS_MAX / PER_CONNECTION }, () => Hand.connect(sidecar.path)),
	);
	for (const [index, hand] of hands.entries()) {
		const names = Array.from({ length: PER_CONNECTION }, (_, number) => `producer-${index * PER_CONNECTION + number}`);
		const replies = await Promise.all(names.map((producer) => hand.ask('openProducer', { producer })));
		expect(replies.filter(({ error }) => error !== undefined)).toEqual([]);
	}
	expect((await hands[0]?.ask('openProducer', { producer: 'over' }))?.error).toMatchObject({
		code: 'OVERLOADED',
		message: expect.stringMatching(/64 producers are open on this connection/),
	});
	using one = await Hand.connect(sidecar.path);
	const full = {
		code: 'OVERLOADED',
		message: expect.stringMatching(/4096 producers are known.*give processes that restart a producer name/),
	};
	expect((await one.ask('openProducer', { producer: 'one-more' })).error).toMatchObject(full);
	expect((await sidecar.facts()).heapBytes - before.heapBytes).toBeLessThan(PRODUCERS_MAX * PRODUCER_BYTES_MAX);
	for (const hand of hands) hand[Symbol.dispose]();
	// Those that have gone are known for an hour: their processes may come back with events that were sent.
	expect((await one.ask('openProducer', { producer: 'one-more' })).error).toMatchObject(full);
	expect((await one.ask('openProducer', { producer: 'producer-7', epoch: 1 })).data).toMatchObject({ epoch: 1 });
});

it('64 consumers on a connection that reads nothing make the sidecar keep no more than one may leave unread', async () => {
	await using sidecar = await SidecarUnderAttack.start();
	using producer = await Hand.connect(sidecar.path);
	const payload = 'x'.repeat(100_000);
	for (let index = 0; index < 20; index++) {
		expect((await producer.ask('publish', { stream: 'bulky', payload })).error).toBe(undefined);
	}
	const before = await sidecar.facts();
	using silent = await Hand.connect(sidecar.path);
	silent.socket.pause();
	for (let number = 0; number < 64; number++) void silent.ask('openConsumer', { stream: 'bulky', from: 'first' });
	let most = 0;
	for (let look = 0; look < 10; look++) {
		const { heapBytes } = await sidecar.facts();
		most = Math.max(most, heapBytes - before.heapBytes);
		expect((await producer.ask('ping', {})).error).toBe(undefined);
	}
	process.stdout.write(`${JSON.stringify({ 'MiB kept for 64 silent consumers': most / 2 ** 20 })}\n`);
	expect(most).toBeGreaterThan(1 << 20);
	expect(most).toBeLessThan(CONSUMERS_BYTES / 2);
});
