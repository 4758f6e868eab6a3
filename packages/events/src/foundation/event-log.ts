import type { LogEvent, NewRecord, ReplayedRecord } from './log-record.ts';

/** What the log can be asked by what is built on it: producers, groups, stores. Implemented in `log/`. */
export interface RecordLog {
	/**
	 * Takes a record and gives its position. It is on disk once `committed` was told. Takes records in every state but
	 * `released`, so that what is taken is bounded by the windows, not by it. `textBytes`: of its text, where
	 * that is known. Throws UNAVAILABLE once it is released.
	 */
	append(record: NewRecord, textBytes?: number): number;
	/** The oldest position that is kept; equal to `next` where none is. */
	readonly first: number;
	/** The position of the next record. */
	readonly next: number;
	/** Every record below is on disk. */
	readonly persisted: number;
	/**
	 * Events from a position on, of one stream or of all, in order; only what is on disk. `next` is where to go on, above every
	 * event that was looked at, so that a read which finds nothing still advances. It resolves at once, also with nothing.
	 */
	read(from: number, options: ReadEvents): Promise<EventPage>;
	/** The position of the newest event of a stream, which may not be on disk yet; 0 where none is kept. */
	lastOf(stream: string): number;
	/** Whole segments whose records are all below may be deleted now. */
	trim(below: number): void;
	/** The first position whose record is not older than this time; `next` where there is none. */
	positionAt(time: number): Promise<number>;
}

export interface ReadEvents {
	/** Default: every stream. */
	readonly stream?: string;
	/** At least one event is read, if there is one, whatever its size. */
	readonly bytesMax: number;
	readonly eventsMax: number;
}

export interface EventPage {
	readonly events: readonly LogEvent[];
	readonly next: number;
}

/**
 * What remembers, from records, what is needed of those that were deleted. Each segment begins with what all of these remember, so the
 * oldest segment that is kept and the records behind it are enough.
 */
export interface LogMemory {
	/**
	 * JSON of what the records appended so far say. Called within `append`: what that is about to append must not be in it yet, because
	 * the checkpoint may be found on disk without it.
	 */
	checkpoint(): string;
	/** What an earlier `checkpoint` said; called once, before the first `replay`. */
	restore(checkpoint: string): void;
	/**
	 * A record that was found on disk, in order. `isKnown`: an event that the checkpoint knows, and that has an id; ids are
	 * in no checkpoint.
	 */
	replay(record: ReplayedRecord, isKnown: boolean): void;
}
