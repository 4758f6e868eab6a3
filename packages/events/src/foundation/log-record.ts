import type { EventText } from '@spock/protocol';

/** Who an event comes from: the producer, its epoch, and its number there. */
export interface EventOrigin {
	/** Empty for an event that came by `publish`. */
	readonly producer: string;
	readonly epoch: number;
	readonly seq: number;
}

/** An event for the log. */
export interface NewEvent extends EventOrigin, EventText {
	readonly kind: 'event';
}

/**
 * A change of what the log's owner remembers besides its events: a producer's epoch, a `seq` that was refused or was a duplicate by
 * its id, the place of a group. Its text is JSON that only its writer reads.
 */
export interface NewNote {
	readonly kind: 'note';
	/** Whose it is. */
	readonly of: 'producers' | 'groups' | 'store';
	readonly text: string;
}

export type NewRecord = NewEvent | NewNote;

/** Where a record is, and when it came. */
export interface RecordPlace {
	/** One more for each record, notes included, from 1. */
	readonly position: number;
	/** In milliseconds since 1970; never less than that of the record before. */
	readonly time: number;
}

export type LogEvent = NewEvent & RecordPlace;
export type LogNote = NewNote & RecordPlace;
export type LogRecord = LogEvent | LogNote;
/** A record as a start reads it. Nobody needs the text of an event then, and to make strings of all of them took longer than to check them. */
export type ReplayedRecord = Omit<LogEvent, 'key' | 'text'> | LogNote;
