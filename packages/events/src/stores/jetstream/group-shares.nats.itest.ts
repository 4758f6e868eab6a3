import { setTimeout as delay } from 'node:timers/promises';

import { SpockError } from '@spock/protocol';
import { waitFor } from '@spock/testkit';
import { findNats, findOldNats, type RealNats, startNats } from '@spock/testkit/real-nats';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { feed } from '../../../test/jetstream-feeder.ts';
import { openStore } from '../../../test/jetstream-fixture.ts';
import { LogEvents } from '../../../test/log-events.ts';
import type { StoreReader } from '../../foundation/event-store.ts';
import type { LogEvent } from '../../foundation/log-record.ts';
import type { JetStreamStore } from './jetstream-store.ts';

const KEYS = 60;
const READ = { eventsMax: 20, bytesMax: 1024 * 1024 };
const BILLING = { group: 'billing', from: 'first' } as const;

/** A sidecar with a reader of the group, which is as quick as it may be. */
class Pod {
	readonly given: LogEvent[] = [];
	readonly done: number[] = [];
	readonly store: JetStreamStore;
	readonly #kill: () => void;
	#isOver = false;
	#work: Promise<void> = Promise.resolve();

	readonly #book: LogEvent[];
	readonly #lateMs: number;

	constructor(nats: RealNats, prefix: string, book: LogEvent[], lateMs: number) {
		this.#book = book;
		this.#lateMs = lateMs;
		let addresses = nats.addresses;
		this.store = openStore(nats, { prefix, servers: async () => addresses });
		this.#kill = () => {
			// Nothing listens there.
			addresses = ['127.0.0.1:1'];
			this.store.serversChanged(addresses);
		};
	}

	async start(options: { readonly isWhole?: boolean } = {}): Promise<StoreReader> {
		const reader = await this.store.reader('orders', { ...BILLING, ...options });
		this.#work = this.#run(reader);
		return reader;
	}

	async #run(reader: StoreReader): Promise<void> {
		while (!this.#isOver) {
			const events = await reader.read(READ);
			if (this.#isOver) return;
			this.given.push(...events);
			this.#book.push(...events);
			await delay(events.length === 0 ? 5 : this.#lateMs);
			const positions = events.map(({ position }) => position);
			// A store without a server settles it at its end.
			void reader.done(positions).then(
				() => this.done.push(...positions),
				() => undefined,
			);
		}
	}

	/** As if its process were dead: nothing of it reaches the server any more. */
	kill(): void {
		this.#isOver = true;
		this.#kill();
	}

	async end(): Promise<void> {
		this.#isOver = true;
		await this.#work;
		await this.store.close();
	}
}

/** Of each key what is given ascends, where what is given for the first time counts. */
function expectKeysInOrder(book: readonly LogEvent[]): void {
	const lasts = new Map<string, number>();
	const seen = new Set<number>();
	for (const { key = '', position } of book) {
		if (seen.has(position)) continue;
		seen.add(position);
		expect(position, `key ${key}`).toBeGreaterThan(lasts.get(key) ?? 0);
		lasts.set(key, position);
	}
}

function positionsOf(events: readonly LogEvent[]): number[] {
	return events.map(({ position }) => position).sort((left, right) => left - right);
}

function countTo(count: number): number[] {
	return Array.from({ length: count }, (_, index) => index + 1);
}

describe.each([
	['with filters', findNats],
	['on an old server', findOldNats],
] as const)('a group with readers in several sidecars, %s,', (_, find) => {
	let nats: RealNats;
	let streams = 0;

	beforeAll(async () => {
		nats = await startNats({ binary: find(process.env) });
	});

	afterAll(async () => {
		await nats?.[Symbol.asyncDispose]();
	});

	/** Pods over a stream of their own, and events on their way to it. */
	function newPods(count: number, lateMs = 10) {
		const prefix = `s${++streams}`;
		const book: LogEvent[] = [];
		const feeder = openStore(nats, { prefix });
		const made = new LogEvents();
		let fed = 0;
		return {
			prefix,
			book,
			pods: Array.from({ length: count }, () => new Pod(nats, prefix, book, lateMs)),
			feed: async (size: number): Promise<number> => {
				const events = Array.from({ length: size }, () => made.make('orders', ++fed, `k${fed % KEYS}`));
				await feed(feeder, events);
				return fed;
			},
			end: async (pods: readonly Pod[]): Promise<void> => {
				for (const pod of pods) await pod.end();
				await feeder.close();
			},
		};
	}

	it('gives each event once, to one of them, and the events of a key in order, while readers come and go', async () => {
		const { pods, book, feed, end } = newPods(3);
		const [first, second, third] = pods as [Pod, Pod, Pod];
		await first.start();
		await feed(300);
		await second.start();
		await waitFor('events at the second', async () => (await feed(50)) > 0 && second.given.length > 0);
		await third.start();
		await waitFor('events at the third', async () => (await feed(50)) > 0 && third.given.length > 0);
		await second.end();
		const fed = await feed(300);
		await waitFor('everything', () => book.length >= fed);
		expect(positionsOf(book)).toEqual(countTo(fed));
		expectKeysInOrder(book);
		await end(pods);
	});

	it('spreads the keys: each has its share of them, and no key is at two', async () => {
		const { pods, book, feed, end } = newPods(2, 0);
		const [first, second] = pods as [Pod, Pod];
		await first.start();
		await second.start();
		await waitFor('events at the second', async () => (await feed(20)) > 0 && second.given.length > 0);
		// Half of the partitions may still be on their way.
		let settled = book.length;
		await waitFor('both shares', async () => {
			settled = book.length;
			const before = second.given.length;
			const fed = await feed(2 * KEYS);
			await waitFor('everything', () => book.length >= fed);
			return second.given.length - before > KEYS / 4;
		});
		const from = book.length;
		expect(from).toBeGreaterThan(settled);
		const fed = await feed(10 * KEYS);
		await waitFor('everything', () => book.length >= fed);
		const keysOf = ({ given }: Pod) => new Set(given.filter((event) => event.position > from).map(({ key }) => key));
		const [ours, theirs] = [keysOf(first), keysOf(second)];
		expect([...ours].filter((key) => theirs.has(key))).toEqual([]);
		expect(Math.min(ours.size, theirs.size)).toBeGreaterThan(KEYS / 4);
		await end(pods);
	});

	it('gives what a dead one had to the others, in order, and nothing again that it had done', async () => {
		const { pods, book, feed, end } = newPods(3);
		const [first, second, third] = pods as [Pod, Pod, Pod];
		for (const pod of pods) await pod.start();
		await waitFor(
			'events at all three',
			async () => (await feed(50)) > 0 && pods.every(({ given }) => given.length > 0),
		);
		const fedBefore = await feed(200);
		second.kill();
		const doneByDead = new Set(second.done);
		const before = book.length;
		const fed = await feed(600);
		const givenAlive = () => positionsOf([...first.given, ...third.given]);
		const doneAlive = () => new Set([...first.done, ...third.done]);
		// They are in every partition, behind what the dead one had of it.
		await waitFor('the rest', () => givenAlive().filter((position) => position > fedBefore).length >= fed - fedBefore);
		await waitFor('that it is done', () => doneAlive().size >= new Set(givenAlive()).size);
		expect(book.slice(before).filter(({ position }) => doneByDead.has(position))).toEqual([]);
		expectKeysInOrder(book);
		const alive = givenAlive();
		expect(new Set(alive).size, 'given twice by those that live').toBe(alive.length);
		// Of what the dead one had, a note may have been kept whose answer did not come.
		const known = new Set([...positionsOf(second.given), ...doneAlive()]);
		expect(countTo(fed).filter((position) => !known.has(position))).toEqual([]);
		await end(pods);
	});

	it('has one reader alone where the order is that of the stream, and the next one goes on where it ends', async () => {
		const { pods, book, feed, end } = newPods(2);
		const [first, second] = pods as [Pod, Pod];
		await first.start({ isWhole: true });
		await second.start({ isWhole: true });
		const half = await feed(200);
		await waitFor('everything', () => book.length >= half);
		expect(second.given).toEqual([]);
		await first.end();
		const fed = await feed(200);
		await waitFor('everything', () => book.length >= fed);
		expect(book.map(({ position }) => position)).toEqual(countTo(fed));
		await end(pods);
	});

	it('is rewound for all of them: those that are not asked end, and nothing that they do counts', async () => {
		const { prefix, feed, end } = newPods(0);
		const stores = [openStore(nats, { prefix }), openStore(nats, { prefix })] as const;
		await feed(KEYS);
		const [first, second] = [await stores[0].reader('orders', BILLING), await stores[1].reader('orders', BILLING)];
		const given: LogEvent[] = [];
		await waitFor('events', async () => given.push(...(await first.read(READ))) >= KEYS / 2);
		await waitFor('events at the other', async () => {
			await first.done(given.map(({ position }) => position));
			given.push(...(await first.read(READ)));
			return (await feed(KEYS)) > 0 && (await second.read(READ)).length > 0;
		});
		expect(await second.rewind('first')).toBe(1);
		const isUnavailable = (error: unknown): boolean => SpockError.is(error, 'UNAVAILABLE');
		await waitFor('that the first has ended', async () => {
			return await first.read(READ).then(() => false, isUnavailable);
		});
		await expect(first.done([1])).rejects.toSatisfy(isUnavailable);
		const again: LogEvent[] = [];
		const fed = await feed(1);
		await waitFor('everything again', async () => again.push(...(await second.read(READ))) >= fed);
		expect(positionsOf(again)).toEqual(countTo(fed));
		for (const store of stores) await store.close();
		await end([]);
	});
});
