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
	/** When its last event with an id came; undefined if it has none. */
	readonly lastIdTime: number | undefined;
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

/** What keeps the oldest segment that is kept: ids by which repetitions are known, events that are kept for a time, a group, or a store elsewhere. */
export type Hold = 'ids' | 'retention' | 'group' | 'store';

/** The position below which the log may be trimmed; 0 for none. And what it may not be trimmed for; undefined if all of it may. */
export interface TrimPlan {
	readonly below: number;
	readonly hold: Hold | undefined;
}

/**
 * Segments go from the oldest on, up to the first that must stay: because of a group
 * that is not past its events, because it is young, or because there is room. A group without consumers holds it as any other does: nothing is
 * dropped to make room.
 */
export function planTrim(
	segments: readonly SealedSegment[],
	logBytes: number,
	groups: readonly Pick<GroupPlace, 'stream' | 'position'>[],
	{ idWindowMs, retentionMs, retentionBytes }: RetentionRules,
	nowMs: number,
	unstored: readonly Pick<GroupPlace, 'stream' | 'position'>[] = [],
): TrimPlan {
	let below = 0;
	let bytes = logBytes;
	for (const segment of segments) {
		const { lastTime, lastIdTime } = segment;
		if (lastIdTime !== undefined && nowMs - lastIdTime < idWindowMs) return { below, hold: 'ids' };
		if (nowMs - lastTime < retentionMs && bytes <= retentionBytes) return { below, hold: 'retention' };
		if (groups.some(({ stream, position }) => segment.mayHold(stream, position))) return { below, hold: 'group' };
		if (unstored.some(({ stream, position }) => segment.mayHold(stream, position))) return { below, hold: 'store' };
		below = segment.next;
		bytes -= segment.bytes;
	}
	return { below, hold: undefined };
}

/** What it must know of a log. */
interface KeptLog {
	readonly bytes: number;
	readonly segments: readonly (Omit<SealedSegment, 'bytes'> & { readonly fileBytes: number })[];
}

/** What of a log may be deleted, now. */
export class Retention {
	readonly #clock: Clock;
	readonly #rules: RetentionRules;
	readonly #times: SealedTimes;

	constructor(clock: Clock, rules: RetentionRules) {
		this.#clock = clock;
		this.#rules = rules;
		this.#times = new SealedTimes(clock);
	}

	/** Of a log whose last segment is written, with groups that hold its events, and events that a store elsewhere may still need. */
	plan(log: KeptLog, groups: Parameters<typeof planTrim>[2], unstored: Parameters<typeof planTrim>[5] = []): TrimPlan {
		const sealed = log.segments.slice(0, -1).map((segment): SealedSegment => {
			const { next, fileBytes, lastIdTime } = segment;
			const lastTime = this.#times.lastTimeOf(segment);
			const mayHold = segment.mayHold.bind(segment);
			return {
				...{ next, bytes: fileBytes, lastTime, mayHold },
				lastIdTime: lastIdTime === undefined ? undefined : Math.min(lastIdTime, lastTime),
			};
		});
		return planTrim(sealed, log.bytes, groups, this.#rules, this.#clock.wallNow(), unstored);
	}
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
