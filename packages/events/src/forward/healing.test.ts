import { describe, expect, it } from 'vitest';

import type { EventStore } from '../foundation/event-store.ts';
import { type HeldPlace, heldNow, holdFrom, keepPair, PAIRS_MAX, type StoredPair } from './healing.ts';

const KEEP_MS = 150_000;

/** A store that holds everything up to a position, and counts what it is asked. */
class Held {
	asked = 0;
	readonly #last: number;
	readonly #knowsLast: boolean;

	constructor(last: number, knowsLast = true) {
		this.#last = last;
		this.#knowsLast = knowsLast;
	}

	get store(): EventStore {
		const lastOf = async () => (this.#knowsLast ? this.#last : undefined);
		const holds = async (_stream: string, position: number) => {
			this.asked++;
			return position <= this.#last;
		};
		return { lastOf, holds } as Partial<EventStore> as EventStore;
	}
}

function placeOf(held: number, pairs: readonly StoredPair[], confirmedMs = 0): HeldPlace {
	return { stream: 'orders', stored: held, held, pairs, confirmedMs };
}

describe('the pairs of a stream', () => {
	it('are kept once in five seconds, and reach back as far as events are kept', () => {
		let pairs: StoredPair[] = [];
		for (let ms = 0; ms <= 1_000_000; ms += 100) pairs = keepPair(pairs, ms, ms, KEEP_MS);
		expect(pairs.length).toBeLessThanOrEqual(PAIRS_MAX);
		expect(1_000_000 - (pairs[0]?.ms ?? 0)).toBeGreaterThan(KEEP_MS);
		expect(1_000_000 - (pairs[1]?.ms ?? 0)).toBeLessThanOrEqual(KEEP_MS);
	});

	it('are kept once a second at most, however short that is', () => {
		let pairs: StoredPair[] = [];
		for (let ms = 0; ms < 10_000; ms += 10) pairs = keepPair(pairs, ms, ms, 9000);
		expect(pairs.length).toBeLessThanOrEqual(11);
	});

	it('do not speak of what the store has lost', () => {
		const pairs = [10, 20, 30].map((position) => ({ position, ms: position * 1000 }));
		expect(keepPair(pairs, 20, 40_000, KEEP_MS).map(({ position }) => position)).toEqual([10, 20]);
	});
});

describe('what must not be trimmed', () => {
	it('is what is not stored, and what was stored lately', () => {
		const pairs = [
			{ position: 10, ms: 0 },
			{ position: 20, ms: 100_000 },
			{ position: 30, ms: 200_000 },
		];
		expect(holdFrom(placeOf(30, pairs, 200_000), KEEP_MS)).toBe(11);
		expect(holdFrom(placeOf(30, pairs, 260_000), KEEP_MS)).toBe(21);
		expect(holdFrom(placeOf(30, pairs, 500_000), KEEP_MS)).toBe(31);
	});

	it('is everything of a stream of which nothing is known', () => {
		expect(holdFrom(placeOf(30, keepPair([], 30, 1000, KEEP_MS), 1000), KEEP_MS)).toBe(1);
	});
});

describe('what a store holds', () => {
	const pairs = Array.from({ length: 32 }, (_, index) => ({ position: 10 * (index + 1), ms: index * 5000 }));

	it('is what it says where it knows its last event', async () => {
		expect(await heldNow(new Held(123).store, placeOf(325, pairs))).toBe(123);
		expect(await heldNow(new Held(400).store, placeOf(325, pairs))).toBe(400);
		expect(await heldNow(new Held(0).store, placeOf(325, pairs))).toBe(0);
	});

	it.each([
		[325, 325],
		[324, 320],
		[123, 120],
		[10, 10],
		[9, 0],
	])('is the newest pair that is still there where it does not: of %i up to %i', async (last, found) => {
		const held = new Held(last, false);
		expect(await heldNow(held.store, placeOf(325, pairs))).toBe(found);
		expect(held.asked).toBeLessThanOrEqual(7);
	});
});
