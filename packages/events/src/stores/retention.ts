import type { Clock } from '@spock/protocol/internal';

import type { GroupPlace } from './group-places.ts';

/** A segment of the log that is not written any more. */
export interface SealedSegment {
	/** The position behind its last record. */
	readonly next: number;
	/** What it takes on disk. */
	readonly bytes: number;
	/** When its last record came, in milliseconds since 1970. */
	readonly lastTime: number;
	/** False if it holds no event of the stream from this position on. */
	mayHold(stream: string, from: number): boolean;
}

export interface RetentionRules {
	/** Events may be needed to know the ids of repetitions for so long. Default 2 minutes, at the caller. */
	readonly idWindowMs: number;
	/** What every group is past is kept for so long, */
	readonly retentionMs: number;
	/** unless the log is larger than this. */
	readonly retentionBytes: number;
}

/**
 * The position below which the log may be trimmed; 0 for none. Segments go from the oldest on, up to the first that must stay: because of a group
 * that is not past its events, because it is young, or because there is room. A group without consumers holds it as any other does: nothing is
 * dropped to make room.
 */
export function trimBelow(
	segments: readonly SealedSegment[],
	logBytes: number,
	groups: readonly Pick<GroupPlace, 'stream' | 'position'>[],
	{ idWindowMs, retentionMs, retentionBytes }: RetentionRules,
	nowMs: number,
): number {
	let below = 0;
	let bytes = logBytes;
	for (const segment of segments) {
		const ageMs = nowMs - segment.lastTime;
		if (ageMs < idWindowMs) break;
		if (ageMs < retentionMs && bytes <= retentionBytes) break;
		if (groups.some(({ stream, position }) => segment.mayHold(stream, position))) break;
		below = segment.next;
		bytes -= segment.bytes;
	}
	return below;
}

/**
 * When the last record of a sealed segment came, at the latest. By the records alone, a clock that was ahead and set right would keep them,
 * and all behind them, until it is there again: by then the log is full.
 */
export class SealedTimes {
	readonly #clock: Clock;
	/** When each was first seen to be sealed, by the monotonic clock. */
	readonly #seenMs = new WeakMap<object, number>();

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	lastTimeOf(segment: Pick<SealedSegment, 'lastTime'>): number {
		const nowMs = this.#clock.now();
		const seenMs = this.#seenMs.get(segment) ?? nowMs;
		this.#seenMs.set(segment, seenMs);
		return Math.min(segment.lastTime, this.#clock.wallNow() - (nowMs - seenMs));
	}
}
