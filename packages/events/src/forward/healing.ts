import { SpockError } from '@spock/protocol';

import type { EventStore } from '../foundation/event-store.ts';

/** A position that the store held at a time, which is in milliseconds of the monotonic clock. */
export interface StoredPair {
	readonly position: number;
	readonly ms: number;
}

/** Pairs of one stream: with the default `keepStoredMs` one for each five seconds. */
export const PAIRS_MAX = 32;
const PAIR_MS_MIN = 1000;

/** What a place says of its store. */
export interface HeldPlace {
	readonly stream: string;
	readonly stored: number;
	readonly held: number;
	readonly pairs: readonly StoredPair[];
	/** When the store was last known to hold all that it had acknowledged, by the monotonic clock. */
	readonly confirmedMs: number;
}

/**
 * The pairs with one more, at most once a second, when the store is known to hold `position`: ascending, none above that, and of those that
 * are older than `keepStoredMs` the newest alone, which is how far back healing reaches.
 */
export function keepPair(
	pairs: readonly StoredPair[],
	position: number,
	nowMs: number,
	keepStoredMs: number,
): StoredPair[] {
	const kept = pairs.filter((pair) => pair.position <= position);
	const aged = kept.findLastIndex(({ ms }) => nowMs - ms > keepStoredMs);
	if (aged > 0) kept.splice(0, aged);
	const last = kept.at(-1);
	const everyMs = Math.max(PAIR_MS_MIN, keepStoredMs / (PAIRS_MAX - 2));
	// Of what a store holds at first nobody knows since when.
	if (last === undefined) kept.push({ position: 0, ms: nowMs });
	else if (position > last.position && nowMs - last.ms >= everyMs) kept.push({ position, ms: nowMs });
	return kept;
}

/**
 * The first position of the stream that must not be trimmed: not stored, or stored so lately that the store may lose it. What counts is how old
 * it was when the store was known to hold it: while the store is away, or was not asked, nothing gets older.
 */
export function holdFrom({ stored, pairs, confirmedMs }: HeldPlace, keepStoredMs: number): number {
	const base = pairs.findLast(({ ms }) => confirmedMs - ms > keepStoredMs) ?? pairs[0];
	return Math.min(stored, base?.position ?? stored) + 1;
}

/**
 * What the store holds: sending goes on behind it. Below `held` if it has lost events. A store that knows its last one is believed;
 * of one that does not, the newest pair that it still holds is found: log₂ of 32 questions.
 */
export async function heldNow(store: EventStore, place: HeldPlace, stepsBackTooShort = false): Promise<number> {
	const { stream, held } = place;
	const last = await store.lastOf(stream);
	if (last !== undefined && last < held) return last;
	if (held === 0 || (await store.holds(stream, held))) return last ?? held;
	const pairs = place.pairs.filter(({ position }) => position < held && position > 0);
	let [low, high] = [0, pairs.length];
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (await store.holds(stream, (pairs[middle] as StoredPair).position)) low = middle + 1;
		else high = middle;
	}
	if (stepsBackTooShort) return pairs[low]?.position ?? held;
	return pairs[low - 1]?.position ?? 0;
}

/** A store has what the log does not. */
export function oldLogError(stream: string, held: number): SpockError {
	const what = `the store of stream "${stream}" has event ${held} of this log, which is not in it: the log was restored from an older copy`;
	return new SpockError('UNAVAILABLE', `${what}; it goes on under a new name`);
}
