import type { SpockError } from '@spock/protocol';

/** Why a record could not be taken as it was found. */
export interface DamageReport {
	readonly file: string;
	/** Positions that are missing, inclusive; null where they are not known. */
	readonly from: number | null;
	readonly to: number | null;
	readonly message: string;
}

/** What is left in the log when the service ends. */
export interface LeftAtExit {
	/** Events that no sync has covered. */
	readonly unpersisted: number;
	/** Events that their store does not hold. */
	readonly unstored: number;
	readonly oldestUnstoredMs: number | null;
}

/**
 * What happens, for logs and metrics. Every member is optional, is called in the tick of what it reports, and must not throw. Those
 * with a count are called once for a commit or a batch, not for each event.
 */
export interface EventsObserver {
	/** Events were appended, and are not on disk yet. */
	accepted?(stream: string, count: number): void;
	persisted?(stream: string, count: number): void;
	/** An event was taken out of its producer's sequence. */
	refused?(stream: string | null, error: { readonly code: string; readonly message: string }): void;
	/** A repetition, by its `id`: it was not appended again. */
	duplicate?(stream: string, count: number): void;
	redelivered?(stream: string, group: string | null, count: number): void;
	/** An event went to the stream of the dead. */
	dead?(stream: string, group: string, reason: string): void;
	/** One sync of the disk has ended. */
	synced?(durationMs: number): void;
	/** Nothing is taken any more, and why; null: events are taken again. */
	blocked?(reason: string | null): void;
	damaged?(report: DamageReport): void;
	/** The state of the log has changed. */
	logState?(state: string, error: SpockError | null): void;
	/** A producer was told more than the log knows: the log was lost. */
	logLost?(producer: string, known: number, told: number): void;
	/** Segments that no group needs were deleted. */
	trimmed?(below: number): void;
	leftAtExit?(left: LeftAtExit): void;
}
