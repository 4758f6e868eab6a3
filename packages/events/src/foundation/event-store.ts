import type { ConsumeFrom, SpockError } from '@spock/protocol';

import type { LogEvent } from './log-record.ts';

/**
 * Where streams are kept. The log feeds a store in order, and takes what it says for granted only until it says otherwise. Errors are
 * SpockErrors: UNAVAILABLE where trying again can help; BAD_REQUEST and FRAME_TOO_LARGE for one event that it will never take.
 */
export interface EventStore {
	/** The kind, for people: `embedded`, `jetstream`. */
	readonly name: string;
	/**
	 * Appends events of one stream, in the order of their positions, each above all that it was given before. `stored` is
	 * called with a position whenever everything up to it is stored; resolves when all of them are. Rejects with the first event that is not:
	 * none behind it is stored then. What it holds already, by position, it does not store again.
	 *
	 * May be called while an earlier call for the stream is under way: its events go behind those of that. If that is rejected, so is this,
	 * and none of its events are stored; this ends once every call that was under way is settled. Each settles in the end, also if the store is away.
	 */
	append(stream: string, events: readonly LogEvent[], stored: (position: number) => void): Promise<void>;
	/**
	 * The highest position of a stream that it holds, or held; 0 if none: where feeding begins again. Undefined if it cannot know.
	 *
	 * What was acknowledged may be lost when the store, or the connection to it, is replaced. From then on `append` rejects with UNAVAILABLE
	 * until this was asked anew: events behind a gap would hide it. Once it is answered, nothing is stored that another process had under way.
	 */
	lastOf(stream: string): Promise<number | undefined>;
	/** Whether it still holds the event of this position, or one behind it: false if it has lost acknowledged events. */
	holds(stream: string, position: number): Promise<boolean>;
	/** Events of a stream for a group, or for a reader without one. */
	reader(stream: string, options: StoreReaderOptions): Promise<StoreReader>;
	/** Forgets a group; resolves once that is kept. Rejects with BAD_REQUEST for one that is unknown, or has a reader. */
	deleteGroup(stream: string, group: string): Promise<void>;
	/** Nothing of this stream is fed for a while: what is kept for that, such as a connection, may be released. Never throws. */
	leave?(stream: string): void;
	/** Whatever holds it is released. Idempotent. */
	close(): Promise<void>;
}

export interface StoreReaderOptions {
	/** Absent: what it has read is forgotten at its end. */
	readonly group?: string;
	/** Where it begins if nothing is known of the group. Absent: an unknown group is refused with BAD_REQUEST. */
	readonly from?: ConsumeFrom;
	/** One reader gives the whole stream. Default false: where several sidecars have readers of the group, each may give some of its keys. */
	readonly isWhole?: boolean;
	/** Called at each failure to read the store, which is retried; with null after each success. */
	readonly failed?: (error: SpockError | null) => void;
}

/**
 * The events of a stream that a group has not done yet, in order. One reader at a time for each group of a sidecar: a second is refused with
 * BAD_REQUEST. Positions here are those of the stream: a store that several logs feed numbers their events anew, and spreads them over the
 * readers that several sidecars have for a group: all of a key to one of them.
 */
export interface StoreReader {
	/** Everything below is done, of what is given here, and events above may be: what `read` gives is the rest. */
	readonly position: number;
	/** One more with each rewind of the group, as its store keeps it; a group that begins anew has another number than before. 0 without a group. */
	readonly rewinds: number;
	/**
	 * Up to so many events that it has not given yet; at least one, if there is one, whatever its size. Resolves at once, also with none: then
	 * `onMore` tells when to ask again. One call at a time.
	 */
	read(limits: { readonly eventsMax: number; readonly bytesMax: number }): Promise<readonly LogEvent[]>;
	/** Calls `listener` when `read` may give more; one listener. */
	onMore(listener: () => void): void;
	/**
	 * These events are done: once this has resolved they are never given again, not even to another process. Positions that it has not
	 * given, or that are done already, are ignored. Rejects if the store cannot keep it: then they may be given again by the next reader.
	 */
	done(positions: readonly number[]): Promise<void>;
	/** Begins anywhere else; what was done there counts no more. Gives the position, once that is kept. */
	rewind(to: ConsumeFrom): Promise<number>;
	/** Ends it; promises of `done` still settle. Idempotent; never rejects. */
	close(): Promise<void>;
}
