import { SpockError } from '@spock/protocol';
import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { SPINS_MIN } from './token-bucket.ts';
import { type FetchAnswer, SPREAD_MS, WatchLoop } from './watch-loop.ts';

interface Query {
	readonly index: number;
	readonly signal: AbortSignal;
	readonly answer: (value: string, index: number) => Promise<void>;
	readonly fail: (error: unknown) => Promise<void>;
}

function createLoop({ onAnswer = (_value: string): void => undefined, random = (): number => 1 } = {}) {
	const clock = new FakeClock();
	const queries: Query[] = [];
	const told: string[] = [];
	const loop = new WatchLoop<string>({
		fetch: (index, signal) =>
			new Promise<FetchAnswer<string>>((resolve, reject) => {
				queries.push({
					index,
					signal,
					answer: async (value, next) => {
						resolve({ value, index: next });
						await settle();
					},
					fail: async (error) => {
						reject(error);
						await settle();
					},
				});
			}),
		isSame: (before, after) => before === after,
		answered: (value) => {
			told.push(value);
			onAnswer(value);
		},
		failed: (error) => told.push(error.code),
		clock,
		random,
	});
	const last = (): Query => queries.at(-1) as Query;
	return { clock, queries, told, loop, last };
}

const refused = new SpockError('UNAVAILABLE', 'refused');

describe('the watch loop', () => {
	it('asks with index 0 first, and then with the index it was given, at once', async () => {
		const { loop, queries, last, told } = createLoop();
		loop.start();
		expect(queries.map(({ index }) => index)).toEqual([0]);
		await last().answer('a', 7);
		expect(queries.map(({ index }) => index)).toEqual([0, 7]);
		await last().answer('b', 9);
		expect(queries.map(({ index }) => index)).toEqual([0, 7, 9]);
		expect(told).toEqual(['a', 'b']);
	});

	it('an unchanged answer is told as a verification, with the object of before', async () => {
		const { loop, last, told } = createLoop();
		loop.start();
		await last().answer('a', 7);
		await last().answer('a', 8);
		expect(told).toEqual(['a', 'a']);
	});

	it('an index that went back is dropped', async () => {
		const { loop, queries, last } = createLoop();
		loop.start();
		await last().answer('a', 415);
		await last().answer('a', 341);
		expect(queries.map(({ index }) => index)).toEqual([0, 415, 0]);
	});

	it('a query that the registry abandons drops the index, although that has not changed', async () => {
		const clock = new FakeClock();
		const asked: number[] = [];
		const loop = new WatchLoop<string>({
			fetch: async (index) => {
				asked.push(index);
				if (asked.length > 2) return new Promise(() => undefined);
				return { value: 'a', index: 7, isAbandoned: index === 7 };
			},
			isSame: (before, after) => before === after,
			answered: () => undefined,
			failed: () => undefined,
			clock,
		});
		loop.start();
		await settle();
		expect(asked).toEqual([0, 7, 0]);
		loop.stop();
	});

	it('a re-read drops the query that is held, and asks without an index within a quarter of a second', async () => {
		const { clock, loop, queries, last } = createLoop();
		loop.start();
		await last().answer('a', 7);
		const held = last();
		loop.reread();
		expect(held.signal.aborted).toBe(true);
		await clock.advance(249);
		expect(queries).toHaveLength(2);
		await clock.advance(1);
		expect(queries.map(({ index }) => index)).toEqual([0, 7, 0]);
	});

	it('a retry ends a back-off within a quarter of a second, and does nothing else', async () => {
		const { clock, loop, queries, last } = createLoop();
		loop.start();
		loop.retry();
		expect(queries).toHaveLength(1);
		for (let failure = 0; failure < 6; failure++) {
			await last().fail(refused);
			if (failure < 5) await clock.advance(8000);
		}
		const before = queries.length;
		loop.retry();
		await clock.advance(250);
		expect(queries).toHaveLength(before + 1);
	});

	it('a failure is reported, drops the index, and is tried again with delays that double to 30 s', async () => {
		const { clock, loop, queries, last, told } = createLoop();
		loop.start();
		await last().answer('a', 7);
		const delays: number[] = [];
		for (let failure = 0; failure < 9; failure++) {
			await last().fail(refused);
			delays.push((clock.nextDueMs as number) - clock.now());
			await clock.advance(delays.at(-1) as number);
			expect(last().index).toBe(0);
		}
		expect(delays).toEqual([250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
		expect(queries).toHaveLength(11);
		expect(told).toEqual(['a', ...Array.from({ length: 9 }, () => 'UNAVAILABLE')]);
	});

	it('a good answer sets the delays back', async () => {
		const { clock, loop, last } = createLoop();
		loop.start();
		for (let failure = 0; failure < 5; failure++) {
			await last().fail(refused);
			await clock.advance(30_000);
		}
		await last().answer('a', 7);
		await last().fail(refused);
		expect((clock.nextDueMs as number) - clock.now()).toBe(250);
	});

	it('what is no SpockError is reported as INTERNAL, and the loop goes on', async () => {
		const { clock, loop, queries, last, told } = createLoop();
		loop.start();
		await last().fail(new TypeError('a fault of ours'));
		expect(told).toEqual(['INTERNAL']);
		await clock.advance(250);
		expect(queries).toHaveLength(2);
	});

	it('an index that spins is asked at a falling pace, at last every 15 s', async () => {
		const { clock, loop, queries, last } = createLoop();
		loop.start();
		const sentAtMs: number[] = [];
		for (let index = 1; index < 12 + SPINS_MIN; index++) {
			const count = queries.length;
			sentAtMs.push(clock.now());
			await last().answer('a', index);
			if (queries.length === count) await clock.advance((clock.nextDueMs as number) - clock.now());
			expect(queries).toHaveLength(count + 1);
		}
		const gapsMs = sentAtMs.slice(1).map((atMs, number) => atMs - (sentAtMs[number] as number));
		expect(gapsMs.slice(0, 2)).toEqual([0, 0]);
		expect(gapsMs[2]).toBe(1000 + SPREAD_MS);
		expect(gapsMs.slice(3, 2 + SPINS_MIN)).toEqual(Array.from({ length: SPINS_MIN - 1 }, () => 1000));
		expect(gapsMs.slice(-3)).toEqual([15_000, 15_000, 15_000]);
	});

	it('what comes and goes in step with the pace is not missed at each look', async () => {
		let seed = 7;
		const random = (): number => {
			seed = (seed * 16_807) % 2_147_483_647;
			return seed / 2_147_483_647;
		};
		const { clock, loop, queries, last, told } = createLoop({ random });
		loop.start();
		for (let index = 1; index < 12; index++) {
			const count = queries.length;
			// Here for 50 ms, gone for 50 ms: a second is ten times both.
			await last().answer(Math.floor(clock.now() / 50) % 2 === 0 ? 'gone' : 'here', index);
			if (queries.length === count) await clock.advance((clock.nextDueMs as number) - clock.now());
		}
		expect(new Set(told)).toEqual(new Set(['gone', 'here']));
	});

	it('an observer that throws is heard of, and the watch goes on', async () => {
		const clock = new FakeClock();
		let asked = 0;
		const loop = new WatchLoop<string>({
			fetch: async () => ({ value: 'a', index: ++asked }),
			isSame: () => false,
			answered: () => {
				throw new Error('a fault of the observer');
			},
			failed: () => undefined,
			clock,
		});
		const before = process.listeners('unhandledRejection');
		process.removeAllListeners('unhandledRejection');
		const heard: unknown[] = [];
		process.on('unhandledRejection', (fault) => heard.push(fault));
		try {
			loop.start();
			await settle();
		} finally {
			loop.stop();
			process.removeAllListeners('unhandledRejection');
			for (const listener of before) process.on('unhandledRejection', listener);
		}
		expect(heard[0]).toMatchObject({ message: 'a fault of the observer' });
		expect(asked).toBeGreaterThan(1);
	});

	it.each(['querying', 'backing off', 'paced'])('stopped while %s it leaves no timer and no query', async (phase) => {
		const { clock, loop, queries, last, told } = createLoop();
		loop.start();
		if (phase === 'backing off') await last().fail(refused);
		if (phase === 'paced') for (let index = 1; index < 5; index++) await last().answer('a', index);
		const before = { told: [...told], queries: queries.length };
		loop.stop();
		loop.stop();
		expect(clock.pendingTimers).toBe(0);
		expect(last().signal.aborted).toBe(phase === 'querying');
		await last().answer('late', 99);
		await clock.advance(100_000);
		expect({ told, queries: queries.length }).toEqual(before);
	});

	it('a late answer of a stopped loop is told to nobody', async () => {
		const { loop, last, told } = createLoop();
		loop.start();
		loop.stop();
		await last().answer('late', 3);
		expect(told).toEqual([]);
	});

	it('has one query or wait at a time, also when an observer asks for a re-read while it is notified', async () => {
		let rereads = 1;
		const { loop, queries, clock, last } = createLoop({
			random: () => 0.5,
			onAnswer: () => rereads-- > 0 && loop.reread(),
		});
		loop.start();
		await last().answer('a', 5);
		await clock.advance(SPREAD_MS);
		expect(queries.map(({ index, signal }) => [index, signal.aborted])).toEqual([
			[0, false],
			[0, false],
		]);
		loop.stop();
		expect([last().signal.aborted, clock.pendingTimers]).toEqual([true, 0]);
	});

	it('an observer that stops the loop while it is told gets no further query', async () => {
		const stop: { now: () => void } = { now: () => undefined };
		const { clock, loop, queries, last } = createLoop({ onAnswer: () => stop.now() });
		stop.now = () => loop.stop();
		loop.start();
		await last().answer('a', 3);
		expect(queries).toHaveLength(1);
		expect(clock.pendingTimers).toBe(0);
	});

	it('never starts again after it was stopped', () => {
		const { loop, queries } = createLoop();
		loop.stop();
		loop.start();
		expect(queries).toEqual([]);
		expect(loop.state).toBe('stopped');
	});
});
