import { isStreamName, type SpockError, STREAM_NAME_LENGTH_MAX } from '@spock/protocol';
import type { Clock, Random } from '@spock/protocol/internal';
import type { MakeForwarding } from './forward/index.ts';
import type { EventsObserver } from './foundation/events-observer.ts';
import type { Files, LogOwner } from './foundation/files.ts';
import type { GroupMistakes } from './groups/held-events.ts';
import { DEFAULT_LOG_LIMITS } from './log/log-options.ts';
import type { PlantedBugs } from './producers/event-appender.ts';
import type { EmbeddedStoreMistakes } from './stores/embedded-store.ts';

const DEFAULT_RETENTION_MS = 7 * 24 * 60 * 60 * 1000;
/** Room for the longest event in each of its four segments. */
const BYTES_MAX_MIN = 8 * 1024 * 1024;
/** Segments of a small log are a quarter of it at most, as the log wants. */
const SEGMENTS_MIN = 4;

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

type Defaulted = 'bytesMax' | 'retentionMs' | 'retentionBytes';
type CheckedLimits = EventServiceLimits &
	Required<Pick<EventServiceLimits, Defaulted>> & { readonly segmentBytes: number };

/** With the defaults filled in. Throws RangeError for what is out of range. */
export function checkedLimits(limits: EventServiceLimits = {}): CheckedLimits {
	const { bytesMax = DEFAULT_LOG_LIMITS.bytesMax, streams } = limits;
	const { retentionMs = DEFAULT_RETENTION_MS, retentionBytes = bytesMax / 2 } = limits;
	if (!(bytesMax >= BYTES_MAX_MIN)) {
		throw new RangeError(`bytesMax must be at least ${BYTES_MAX_MIN}, which is 8 MiB, not ${bytesMax}`);
	}
	if (!(retentionBytes <= bytesMax)) {
		const rule = `must be at most ${bytesMax}, the size that the log may have`;
		throw new RangeError(`retentionBytes ${rule}, not ${retentionBytes}`);
	}
	for (const stream of streams ?? []) {
		if (isStreamName(stream)) continue;
		const rule = `must be 1 to ${STREAM_NAME_LENGTH_MAX} letters, digits, "_", "." or "-"`;
		throw new RangeError(`streams ${rule}, not ${JSON.stringify(stream)}`);
	}
	const segmentBytes = Math.min(DEFAULT_LOG_LIMITS.segmentBytes, Math.floor(bytesMax / SEGMENTS_MIN));
	return { ...limits, bytesMax, segmentBytes, retentionMs, retentionBytes };
}
