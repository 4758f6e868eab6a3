import type { SpockError } from '@spock/protocol';
import type { Clock, Random } from '@spock/protocol/internal';

import type { LogMemory } from '../foundation/event-log.ts';
import type { Files, LogOwner } from '../foundation/files.ts';
import type { LogDamage } from '../segments/segment-recovery.ts';
import type { LogState } from './log-machine.ts';

/** What the log tells. Called synchronously; must not throw. */
export interface LogListener {
	/** Every record below this position is on disk, and the directory was still ours after that. */
	committed(persisted: number): void;
	/** `reason` says why nothing is taken, for people; undefined in `receiving`. */
	stateChanged(state: LogState, reason: string | undefined): void;
	/** Producers may send, or must stop: `reason` says why, for people. */
	windows(isOpen: boolean, reason: string | undefined): void;
	/** So many records were taken and are not on disk at the end. */
	left(records: number): void;
	/** Records that were found damaged, now or at the start. */
	damaged(damage: LogDamage): void;
	/** A write, a sync or a look at the owner failed; it is tried again in a new file. */
	failed(error: SpockError): void;
	/** How long a write and its sync took. */
	synced?(milliseconds: number, bytes: number): void;
}

export interface LogLimits {
	/** Most bytes on disk; what was taken before is written beyond it. At least four segments. Default 256 MiB. */
	readonly bytesMax?: number;
	/** Bytes of the file system that are left free. Default: 10 % of it or 1 GiB, whichever is less. */
	readonly freeBytesMin?: number;
	/** A segment is ended before it is longer. Default 16 MiB. */
	readonly segmentBytes?: number;
	/** Newest records that are kept in memory for readers. Default 4 MiB. */
	readonly recentBytesMax?: number;
	/** Most that waits for the disk in memory: beyond it `append` throws OVERLOADED. Windows must be less. Default 64 MiB. */
	readonly pendingBytesMax?: number;
	/** Events with an id that are younger than this are replayed at a start in any case: repetitions are known by them. Default 180000. */
	readonly replayMs?: number;
	/** So many of those are enough, the newest. Default: all. */
	readonly replayIdsMax?: number;
}

export interface EventLogOptions {
	readonly directory: string;
	readonly files: Files;
	readonly owner: LogOwner;
	/** What must be known of records that were deleted. */
	readonly memory: LogMemory;
	readonly listener: LogListener;
	readonly clock: Clock;
	/** For salts and back-off. Default `Math.random`. */
	readonly random?: Random;
	readonly limits?: LogLimits;
	/** For tests, which must notice it: what follows a torn record is taken as if it were whole. Default false. */
	readonly keepsTornTail?: boolean;
}

const MEBIBYTE = 1024 * 1024;

/** What of the events that no checkpoint knows is replayed. */
export type ReplayLimits = Required<Pick<LogLimits, 'replayMs' | 'replayIdsMax'>>;

export const DEFAULT_LOG_LIMITS: Required<Omit<LogLimits, 'freeBytesMin'>> = Object.freeze({
	bytesMax: 256 * MEBIBYTE,
	segmentBytes: 16 * MEBIBYTE,
	recentBytesMax: 4 * MEBIBYTE,
	pendingBytesMax: 64 * MEBIBYTE,
	replayMs: 180_000,
	replayIdsMax: Number.POSITIVE_INFINITY,
});

/** Least free bytes of a file system of this size. */
export function defaultFreeBytesMin(totalBytes: number): number {
	return Math.min(1024 * MEBIBYTE, Math.floor(totalBytes / 10));
}
