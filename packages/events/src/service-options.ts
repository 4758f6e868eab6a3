import type { SpockError } from '@spock/protocol';
import type { Clock, Random } from '@spock/protocol/internal';
import type { MakeForwarding } from './forward/index.ts';
import type { EventsObserver } from './foundation/events-observer.ts';
import type { Files, LogOwner } from './foundation/files.ts';
import type { GroupMistakes } from './groups/held-events.ts';
import type { PlantedBugs } from './producers/event-appender.ts';
import type { EmbeddedStoreMistakes } from './stores/embedded-store.ts';

/** What events may take. */
export interface EventServiceLimits {
	/** Most bytes of the log on disk. Default 256 MiB; at least 8 MiB. */
	readonly bytesMax?: number;
	/** Bytes of the file system that are left free. Default: a tenth of it, at most 1 GiB. */
	readonly freeBytesMin?: number;
	/** How long events are kept at least, and until every group is past them. Default 7 days. */
	readonly retentionMs?: number;
	/** Above so many bytes events that every group is past are deleted earlier. Default half of `bytesMax`; at most `bytesMax`. */
	readonly retentionBytes?: number;
	/** The only streams that events may be written to; others are BAD_REQUEST. Default: any. */
	readonly streams?: ReadonlySet<string>;
	/** The setting that `streams` comes from, for the message. Default `streams`. */
	readonly streamsSetting?: string;
}

export interface EventServiceOptions {
	/** Of the log; made if it does not exist. */
	readonly directory: string;
	readonly files: Files;
	readonly owner: LogOwner;
	readonly clock: Clock;
	/** For jitter and the salts of files. */
	readonly random: Random;
	readonly limits?: EventServiceLimits;
	readonly observer?: EventsObserver;
	/**
	 * The open log is another process's now, or its directory is gone: nothing is taken any more, and whoever was connected is told so. Another
	 * service may open it again; once it has, `retire` lets this one's producers go there.
	 */
	readonly lost?: (reason: SpockError) => void;
	/** Where streams go whose store is elsewhere: what `forwardTo` of `@spock/events/forward` gives. Default: all stay in the log. */
	readonly stores?: MakeForwarding;
	/** For tests, which must notice them. Default: none. */
	readonly plantedBugs?: EventServiceBugs;
}

/** Bugs that a test plants in a whole service. */
export interface EventServiceBugs {
	readonly producers?: PlantedBugs;
	readonly groups?: GroupMistakes;
	readonly store?: EmbeddedStoreMistakes;
	readonly keepsTornTail?: boolean;
}
