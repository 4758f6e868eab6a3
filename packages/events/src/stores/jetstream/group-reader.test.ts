import { SpockError } from '@spock/protocol';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import type { LogEvent } from '../../foundation/log-record.ts';
import { PARTITIONS } from './event-message.ts';
import { GroupReader, type GroupReaderStore } from './group-reader.ts';
import { newGroup, type PartitionRecord, shareOf } from './group-record.ts';
import type { Kept, RecordPlace } from './places.ts';

const LEASE_MS = 300;
const STEP_MS = 10;
const EVENTS = 400;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Park and Miller: seeds repeat a run. */
function randomOf(seed: number): () => number {
	let state = seed + 1;
	return () => {
		state = (state * 48_271) % 2_147_483_647;
		return state / 2_147_483_647;
	};
}

const away = (): SpockError => new SpockError('UNAVAILABLE', 'no server');
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A server that keeps records, answers late or never, and does late what it did not answer. */
class Server {
	readonly random: () => number;
	readonly records = new Map<string, Kept<unknown>>();
	faults = 0.1;
	#revision = 0;

	constructor(seed: number) {
		this.random = randomOf(seed);
	}

	set(name: string, value: unknown, revision: number): number | undefined {
		if ((this.records.get(name)?.revision ?? 0) !== revision) return undefined;
		this.records.set(name, { value, revision: ++this.#revision });
		return this.#revision;
	}

	placeOf<Value>(name: string, isAway: () => boolean): RecordPlace<Value> {
		const travel = async (): Promise<void> => {
			await wait(this.random() * 20);
			if (isAway() || this.random() < this.faults) throw away();
		};
		return {
			get: async () => {
				await travel();
				return this.records.get(name) as Kept<Value> | undefined;
			},
			replace: async (value, revision) => {
				const copy = structuredClone(value);
				await travel();
				if (this.random() < this.faults / 2) {
					void wait(this.random() * 2 * LEASE_MS).then(() => this.set(name, copy, revision));
					throw away();
				}
				const replaced = this.set(name, copy, revision);
				await travel();
				return replaced;
			},
		};
	}
}

/** What all readers were given, and what was told to be done. */
class Book {
	readonly done = new Set<number>();
	readonly mistakes: string[] = [];
	readonly given = new Set<number>();
}

/** A sidecar that reads, and opens its reader again when that has ended. */
class Pod {
	isAway = false;
	isOver = false;
	readonly #server: Server;
	readonly #book: Book;

	constructor(server: Server, book: Book) {
		this.#server = server;
		this.#book = book;
		void this.#run();
	}

	async #run(): Promise<void> {
		while (!this.isOver) {
			const { value } = this.#server.records.get('group') as Kept<ReturnType<typeof newGroup>>;
			const reader = new GroupReader(this.#store(), value, false);
			try {
				await reader.start();
				await this.#read(reader);
			} catch (error) {
				if (!SpockError.is(error, 'UNAVAILABLE')) this.#book.mistakes.push(String(error));
			}
			await reader.close();
			await wait(STEP_MS);
		}
	}

	async #read(reader: GroupReader): Promise<void> {
		const lasts = new Map<number, number>();
		while (!this.isOver) {
			const events = await reader.read({ eventsMax: 5, bytesMax: 1e6 });
			const positions = events.map(({ position }) => position);
			for (const position of positions) {
				this.#book.given.add(position);
				const partition = position % PARTITIONS;
				if (this.#book.done.has(position)) this.#book.mistakes.push(`${position} was done, and is given again`);
				if (position <= (lasts.get(partition) ?? 0)) this.#book.mistakes.push(`${position} is out of order`);
				lasts.set(partition, position);
			}
			await wait(this.#server.random() * 40);
			const noted = (): void => {
				for (const position of positions) this.#book.done.add(position);
			};
			// It may come again.
			void reader.done(positions).then(noted, () => undefined);
		}
	}

	#store(): GroupReaderStore {
		const isAway = (): boolean => this.isAway;
		return {
			leaseMs: LEASE_MS,
			group: this.#server.placeOf('group', isAway),
			partition: (partition) => this.#server.placeOf(`group.${partition}`, isAway),
			sequenceOf: async () => 1,
			closed: () => undefined,
			failed: () => undefined,
			tail: (from, _more, partitions) => {
				let next = from;
				return {
					get position() {
						return next;
					},
					ready: () => wait(1),
					take: (eventsMax) => {
						const taken = [];
						for (; next <= EVENTS && taken.length < eventsMax && !isAway(); next++) {
							const partition = next % PARTITIONS;
							if (partitions.includes(partition)) taken.push({ event: { position: next } as LogEvent, partition });
						}
						return taken;
					},
					close: () => undefined,
				};
			},
		};
	}
}

it('members have equal shares of the partitions, and all of them together', () => {
	for (let count = 1; count <= 20; count++) {
		const members = Array.from({ length: count }, (_, index) => ({ name: `m${index}`, beat: 0, isWhole: false }));
		const shares = members.map(({ name }) => shareOf(members, name));
		expect(shares.reduce((sum, share) => sum + share, 0)).toBe(PARTITIONS);
		expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
		const whole = [...members.slice(0, -1), { name: 'whole', beat: 0, isWhole: true }];
		expect(whole.map(({ name }) => shareOf(whole, name))).toEqual(
			whole.map((_, rank) => (rank === 0 ? PARTITIONS : 0)),
		);
	}
	expect(shareOf([], 'nobody')).toBe(0);
});

it.each(Array.from({ length: 10 }, (_, seed) => seed))(
	'whatever answers are lost and whoever is cut off or dies, what was told to be done is not given again, seed %i',
	async (seed) => {
		const server = new Server(seed);
		const book = new Book();
		server.set('group', newGroup(1), 0);
		const pods = [new Pod(server, book), new Pod(server, book), new Pod(server, book)];
		for (let turn = 0; turn < 400; turn++) {
			await vi.advanceTimersByTimeAsync(STEP_MS);
			const pod = pods[Math.floor(server.random() * pods.length)] as Pod;
			const chance = server.random();
			if (chance < 0.01) {
				// It dies, and another one comes.
				[pod.isAway, pod.isOver] = [true, true];
				pods[pods.indexOf(pod)] = new Pod(server, book);
			} else if (chance < 0.05) pod.isAway = true;
			else if (chance < 0.3) pod.isAway = false;
		}
		server.faults = 0;
		for (const pod of pods) pod.isAway = false;
		// Also what nobody was told of, as the answer was lost.
		const isAllDone = (): boolean =>
			Array.from({ length: PARTITIONS }, (_, partition) => server.records.get(`group.${partition}`)).every(
				(kept) => ((kept?.value as PartitionRecord | undefined)?.position ?? 0) > EVENTS,
			);
		for (let turn = 0; turn < 1500 && !isAllDone(); turn++) await vi.advanceTimersByTimeAsync(STEP_MS);
		expect(book.mistakes).toEqual([]);
		expect(isAllDone()).toBe(true);
		expect(book.given.size).toBe(EVENTS);
		for (const pod of pods) pod.isOver = true;
		await vi.advanceTimersByTimeAsync(10 * LEASE_MS);
	},
);
