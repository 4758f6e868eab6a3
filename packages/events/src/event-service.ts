import {
	type EventsStatus,
	type OpenConsumerData,
	type OpenProducerData,
	type PublishData,
	type PublishReply,
	type RewindGroupData,
	type RewindGroupReply,
	SpockError,
} from '@spock/protocol';
import { type Clock, type Random, setImmediate } from '@spock/protocol/internal';

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
import { MemoryLog } from './memory-log.ts';
import { Producers } from './producers/producers.ts';

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
	readonly #directory: string;
	readonly #log: MemoryLog;
	readonly #producers: Producers;
	#state: 'recovering' | 'receiving' | 'released' = 'recovering';
	#isCommitting = false;

	constructor({ directory, clock, limits = {}, observer }: EventServiceOptions) {
		this.#directory = directory;
		this.#log = new MemoryLog(clock, (persisted) => this.#producers.committed(persisted));
		const log = {
			append: (record: Parameters<MemoryLog['append']>[0]) => {
				if (!this.#isCommitting) setImmediate(() => this.#commit());
				this.#isCommitting = true;
				return this.#log.append(record);
			},
		};
		const { streams, streamsSetting } = limits;
		this.#producers = new Producers({ log, clock, observer, streams, streamsSetting });
	}

	/**
	 * Claims the directory and recovers the log. `takeOver`: from a process that still lives. Rejects with UNAVAILABLE where another one
	 * has it. Until it resolves all below rejects with UNAVAILABLE.
	 */
	open(_takeOver: boolean): Promise<void> {
		this.#state = 'receiving';
		return Promise.resolve();
	}

	/**
	 * Opens a producer. Not a promise where nothing must be persisted first. Throws or rejects: OVERLOADED (too many producers),
	 * UNAVAILABLE (no log), BAD_REQUEST (an epoch that is over).
	 */
	openProducer(data: OpenProducerData, line: ProducerLine): OpenedProducer | Promise<OpenedProducer> {
		this.#requireOpen();
		return this.#producers.open(data, line);
	}

	/** The events of the producer that was given this ticket; undefined for any other text. */
	uplink(ticket: string, intake: Intake): Uplink | undefined {
		return this.#producers.uplink(ticket, intake);
	}

	/**
	 * Appends one event; resolves when it is persisted. Rejects: UNAVAILABLE (the log takes nothing now, and why), OVERLOADED (too many
	 * wait), BAD_REQUEST (unknown stream), FRAME_TOO_LARGE, ABORTED: the event may be stored all the same.
	 */
	async publish(data: PublishData, signal?: AbortSignal): Promise<PublishReply> {
		this.#requireOpen();
		return await this.#producers.publish(data, signal);
	}

	/** Rejects: BAD_REQUEST (another order than that of its group), OVERLOADED, UNAVAILABLE. */
	openConsumer(_data: OpenConsumerData, _sink: ConsumerSink): Promise<Consumer> {
		return Promise.reject(new SpockError('UNAVAILABLE', 'consumers come with the next commit'));
	}

	/** Rejects: BAD_REQUEST (no such group), UNAVAILABLE. */
	rewindGroup(_data: RewindGroupData): Promise<RewindGroupReply> {
		return Promise.reject(new SpockError('UNAVAILABLE', 'groups come with the next commit'));
	}

	status(): EventsStatus {
		return {
			state: this.#state,
			reason: null,
			directory: this.#directory,
			bytes: 0,
			bytesMax: 0,
			next: this.#log.next,
			producers: this.#producers.count,
			unstored: this.#producers.waiting,
			oldestUnstoredMs: null,
			damaged: 0,
			streams: [],
			groups: [],
		};
	}

	/** Closes the windows, finishes the commit under way and gives the directory up. Producers go on at the successor. Idempotent. */
	handOver(): Promise<void> {
		this.#producers.setReason('the log is handed over to another sidecar');
		this.#commit();
		this.#state = 'released';
		this.#log.release();
		return Promise.resolve();
	}

	/** Takes nothing new, waits `drainMs` at most until all is stored, and ends. Idempotent. */
	close(_drainMs: number): Promise<void> {
		this.#producers.setReason('the sidecar ends');
		this.#commit();
		this.#state = 'released';
		this.#log.release();
		return Promise.resolve();
	}

	#commit(): void {
		this.#isCommitting = false;
		this.#log.commit();
	}

	#requireOpen(): void {
		if (this.#state === 'receiving') return;
		throw new SpockError('UNAVAILABLE', `no events are taken now: the log is ${this.#state}`);
	}
}
