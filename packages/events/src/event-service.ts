import type {
	EventsStatus,
	OpenConsumerData,
	OpenProducerData,
	PublishData,
	PublishReply,
	RewindGroupData,
	RewindGroupReply,
} from '@spock/protocol';
import type { Clock, Random } from '@spock/protocol/internal';

import type {
	Consumer,
	ConsumerSink,
	Intake,
	OpenedProducer,
	ProducerLine,
	Uplink,
} from './foundation/event-sessions.ts';
import type { EventsObserver } from './foundation/events-observer.ts';
import type { Files } from './foundation/files.ts';
import type { LogOwner } from './foundation/log-owner.ts';

/** What events may take. */
export interface EventServiceLimits {
	/** Most bytes of the log on disk. Default 256 MiB. */
	readonly bytesMax?: number;
	/** Bytes of the file system that are left free. Default: a tenth of it, at most 1 GiB. */
	readonly freeBytesMin?: number;
	/** How long events are kept at least once every group is past them. Default 7 days. */
	readonly retentionMs?: number;
	/** Above so many bytes events that every group is past are deleted earlier. Default half of `bytesMax`. */
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
	/** For jitter. */
	readonly random: Random;
	readonly limits?: EventServiceLimits;
	readonly observer?: EventsObserver;
}

/** Durable events, for the sidecar: the log, its producers, its groups and the store that is a view of it. */
export class EventService {
	constructor(_options: EventServiceOptions) {}

	/**
	 * Claims the directory and recovers the log. `takeOver`: from a process that still lives. Rejects with UNAVAILABLE where another one
	 * has it. Until it resolves all below rejects with UNAVAILABLE.
	 */
	open(_takeOver: boolean): Promise<void> {
		throw new Error('to come');
	}

	/**
	 * Opens a producer. Not a promise where nothing must be persisted first. Throws or rejects: OVERLOADED (too many producers),
	 * UNAVAILABLE (no log), BAD_REQUEST (an epoch that is over).
	 */
	openProducer(_data: OpenProducerData, _line: ProducerLine): OpenedProducer | Promise<OpenedProducer> {
		throw new Error('to come');
	}

	/** The events of the producer that was given this ticket; undefined for any other text. */
	uplink(_ticket: string, _intake: Intake): Uplink | undefined {
		throw new Error('to come');
	}

	/**
	 * Appends one event; resolves when it is persisted. Rejects: UNAVAILABLE (the log takes nothing now, and why), OVERLOADED (too many
	 * wait), BAD_REQUEST (unknown stream), FRAME_TOO_LARGE, ABORTED: the event may be stored all the same.
	 */
	publish(_data: PublishData, _signal?: AbortSignal): Promise<PublishReply> {
		throw new Error('to come');
	}

	/** Rejects: BAD_REQUEST (another order than that of its group), OVERLOADED, UNAVAILABLE. */
	openConsumer(_data: OpenConsumerData, _sink: ConsumerSink): Promise<Consumer> {
		throw new Error('to come');
	}

	/** Rejects: BAD_REQUEST (no such group), UNAVAILABLE. */
	rewindGroup(_data: RewindGroupData): Promise<RewindGroupReply> {
		throw new Error('to come');
	}

	status(): EventsStatus {
		throw new Error('to come');
	}

	/** Closes the windows, finishes the commit under way and gives the directory up. Producers go on at the successor. Idempotent. */
	handOver(): Promise<void> {
		throw new Error('to come');
	}

	/** Takes nothing new, waits `drainMs` at most until all is stored, and ends. Idempotent. */
	close(_drainMs: number): Promise<void> {
		throw new Error('to come');
	}
}
