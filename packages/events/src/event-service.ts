import {
	type DeleteGroupData,
	type EventsStatus,
	type OpenConsumerData,
	type OpenProducerData,
	type PublishData,
	type PublishReply,
	type RewindGroupData,
	type RewindGroupReply,
	SpockError,
} from '@spock/protocol';
import type { Clock, TimerHandle } from '@spock/protocol/internal';
import type { Forwarding } from './forward/index.ts';
import type {
	Consumer,
	ConsumerSink,
	Intake,
	OpenedProducer,
	ProducerLine,
	Uplink,
} from './foundation/event-sessions.ts';
import type { EventsObserver } from './foundation/events-observer.ts';
import { StoreFaults } from './foundation/store-faults.ts';
import { ConsumerGroups, groupObserver } from './groups/consumer-groups.ts';
import { EventLog } from './log/event-log.ts';
import type { LogState } from './log/log-machine.ts';
import type { LogListener } from './log/log-options.ts';
import { ID_WINDOW_IDS_MAX, ID_WINDOW_MS } from './producers/id-window.ts';
import { Producers } from './producers/producers.ts';
import { ServiceMemory } from './service-memory.ts';
import { checkedLimits, type EventServiceOptions } from './service-options.ts';
import { countAbove, faultStatus, groupStatus, holding, holdReason, streamStatus } from './service-status.ts';
import { EmbeddedStore } from './stores/embedded-store.ts';
import { Retention, type TrimPlan } from './stores/retention.ts';

/** How often is looked for what may be deleted; while the log is larger than it should be at each commit, but not more often than this. */
const RETAIN_MS = 10_000;
const RETAIN_MS_MIN = 1000;
/** How long a successor waits for consumers whose dead letters are on their way to the disk. */
const HAND_OVER_GROUPS_MS = 100;
/** Durable events, for the sidecar: the log, its producers, its groups and the store that is a view of it. */
export class EventService {
	readonly #directory: string;
	readonly #clock: Clock;
	readonly #observer: EventsObserver;
	readonly #lost: EventServiceOptions['lost'];
	readonly #bytesMax: number;
	readonly #retentionBytes: number;
	readonly #retention: Retention;
	readonly #log: EventLog;
	readonly #producers: Producers;
	readonly #store: EmbeddedStore;
	readonly #groups: ConsumerGroups;
	readonly #forwarding: Forwarding | undefined;
	readonly #storeFaults: StoreFaults;
	#retainTimer: TimerHandle | undefined;
	#retainedMs = Number.NEGATIVE_INFINITY;
	#isReading = true;
	/** That nothing is taken was reported, and no end of it. */
	#isBlockReported = false;
	/** No window is opened any more. */
	#isEnding = false;

	constructor(options: EventServiceOptions) {
		const { directory, files, owner, clock, random, observer = {}, plantedBugs = {} } = options;
		const limits = checkedLimits(options.limits);
		const { bytesMax, segmentBytes, freeBytesMin, retentionMs, retentionBytes, streams, streamsSetting } = limits;
		this.#directory = directory;
		this.#clock = clock;
		this.#observer = observer;
		this.#lost = options.lost;
		this.#bytesMax = bytesMax;
		this.#retentionBytes = retentionBytes;
		this.#retention = new Retention(clock, { idWindowMs: ID_WINDOW_MS, retentionMs, retentionBytes });
		const memory = new ServiceMemory();
		this.#log = new EventLog({
			directory,
			files,
			owner,
			clock,
			random,
			memory,
			listener: this.#listener(),
			limits: {
				bytesMax,
				segmentBytes,
				replayIdsMax: ID_WINDOW_IDS_MAX,
				...(freeBytesMin !== undefined && { freeBytesMin }),
			},
			...(plantedBugs.keepsTornTail === true && { keepsTornTail: true }),
		});
		const faults = new StoreFaults(clock, observer);
		this.#storeFaults = faults;
		this.#forwarding = options.stores?.({
			...{ log: this.#log, clock, random, observer: faults.watching(observer) },
			countAbove: (stream, position) => countAbove(this.#log.segments, stream, position),
			bury: (event) => this.#producers.bury(event),
			refused: (event, error) => this.#producers.elsewhere.refused(event, error),
			stored: (stream, events) => this.#producers.elsewhere.stored(stream, events),
			reached: (stream, position) => this.#producers.elsewhere.reached(stream, position),
		});
		this.#producers = new Producers({
			log: this.#log,
			clock,
			observer: this.#forwarding?.watching(observer) ?? observer,
			isElsewhere: this.#forwarding?.isElsewhere,
			streams,
			streamsSetting,
			plantedBugs: plantedBugs.producers ?? {},
		});
		this.#producers.setReason('the log is being read');
		this.#store = new EmbeddedStore({ log: this.#log, mistakes: plantedBugs.store ?? {} });
		this.#groups = new ConsumerGroups({
			storeOf: (stream) => this.#forwarding?.storeOf(stream) ?? this.#store,
			bury: (event) => this.#producers.bury(event),
			clock,
			random,
			mistakes: plantedBugs.groups ?? {},
			observer: groupObserver(observer),
			readFailed: (stream, error) => faults.read(stream, error),
			unread: (stream) => faults.unread(stream),
		});
		memory.parts = {
			...{ producers: this.#producers, groups: this.#store },
			...(this.#forwarding !== undefined && { stores: this.#forwarding }),
		};
	}

	/** Reads the log of the process that has it now, so that `open` takes less time. After a rejection this service is of no use. */
	readAhead(): Promise<void> {
		return this.#log.readAhead();
	}

	/**
	 * Claims the directory and recovers the log. `takeOver`: from a process that still lives. Rejects with UNAVAILABLE where another one
	 * has it, and with the error of a disk that cannot be read. Until it resolves all below rejects with UNAVAILABLE.
	 */
	async open(takeOver: boolean): Promise<void> {
		await this.#log.open(takeOver);
		if (this.#isEnding) return;
		this.#retain();
		this.#armRetain(RETAIN_MS);
	}

	/**
	 * Opens a producer. Not a promise where nothing must be persisted first. Throws or rejects: OVERLOADED (too many producers),
	 * UNAVAILABLE (no log), BAD_REQUEST (an epoch that is over).
	 */
	openProducer(data: OpenProducerData, line: ProducerLine): OpenedProducer | Promise<OpenedProducer> {
		this.#requireLog();
		return this.#producers.open(data, line);
	}

	/** The events of the producer that was given this ticket; undefined for any other text. */
	uplink(ticket: string, intake: Intake): Uplink | undefined {
		return this.#producers.uplink(ticket, intake);
	}

	/**
	 * Appends one event; resolves when it is persisted, or stored if `until` says so. Rejects: UNAVAILABLE (the log takes nothing now, and why), OVERLOADED (too many
	 * wait), BAD_REQUEST (unknown stream), FRAME_TOO_LARGE, ABORTED: the event may be stored all the same.
	 */
	publish(data: PublishData, signal?: AbortSignal): Promise<PublishReply> {
		const published = this.#producers.publish(data, signal);
		const forwarding = this.#forwarding;
		if (forwarding === undefined || data.until !== 'stored') return published;
		return published.then(async (reply) => {
			await forwarding.untilStored(data.stream, reply.position, signal);
			return reply;
		});
	}

	/** Rejects: BAD_REQUEST (another order than that of its group), OVERLOADED, UNAVAILABLE. */
	async openConsumer(data: OpenConsumerData, sink: ConsumerSink): Promise<Consumer> {
		this.#requireLog();
		return await this.#groups.open(data, sink);
	}

	/** Rejects: BAD_REQUEST (no such group), UNAVAILABLE. */
	async rewindGroup(data: RewindGroupData): Promise<RewindGroupReply> {
		this.#requireLog();
		return await this.#groups.rewind(data);
	}

	/** Rejects: BAD_REQUEST (no such group, or one with members), UNAVAILABLE. */
	async deleteGroup(data: DeleteGroupData): Promise<void> {
		this.#requireLog();
		await this.#groups.delete(data);
	}

	status(): EventsStatus {
		const { state, reason = null, bytes, next, damaged, segments } = this.#log;
		return {
			state,
			reason: reason === null ? null : this.#withHold(reason),
			directory: this.#directory,
			bytes,
			bytesMax: this.#bytesMax,
			next,
			producers: this.#producers.count,
			unstored: this.#producers.waiting,
			oldestUnstoredMs: this.#producers.waitingMs,
			windowBytes: this.#producers.windowBytes,
			damaged,
			idsForgotten: this.#producers.idsForgotten,
			streams: streamStatus(segments, this.#forwarding),
			groups: groupStatus(segments, this.#store.groups(), this.#groups.status(), this.#forwarding),
			storeFaults: faultStatus(this.#storeFaults, this.#forwarding),
		};
	}

	/** Closes the windows, writes what was taken and gives the directory up. Producers go on at the successor. Idempotent. */
	async handOver(): Promise<void> {
		await this.#endGroups('events are handed over to another sidecar', HAND_OVER_GROUPS_MS);
		this.#forwarding?.stop();
		await this.#log.handOver();
		await this.#store.close();
	}

	/** After `lost`, another service has the log: producers may send, and what they send closes their uplinks, so that they open again there. */
	retire(): void {
		this.#producers.setReason(null);
	}

	/** Takes nothing new, waits `drainMs` at most until all is on disk and in its store, and ends. Idempotent. */
	async close(drainMs: number): Promise<void> {
		const untilMs = this.#clock.now() + drainMs;
		await this.#endGroups('the sidecar is stopping', drainMs);
		await this.#forwarding?.close(Math.max(0, untilMs - this.#clock.now()));
		await this.#log.close(Math.max(0, untilMs - this.#clock.now()));
		await this.#store.close();
	}

	/** Before the log ends, so that their last notes are written too. */
	async #endGroups(reason: string, drainMs: number): Promise<void> {
		this.#isEnding = true;
		this.#clock.clearTimeout(this.#retainTimer);
		this.#producers.setReason(reason);
		await this.#groups.close(new SpockError('UNAVAILABLE', `${reason}; connect again`), drainMs);
	}

	#listener(): LogListener {
		const observer = this.#observer;
		return {
			committed: (persisted) => {
				this.#producers.committed(persisted);
				this.#store.committed();
				this.#forwarding?.committed();
				if (this.#log.bytes > this.#retentionBytes) this.#retain();
			},
			stateChanged: (state, reason) => this.#stateChanged(state, reason ?? null),
			windows: (isOpen, reason = 'the log takes nothing') => {
				if (this.#isEnding) return;
				const why = isOpen ? null : this.#withHold(reason);
				this.#producers.setReason(why);
				// Whoever has the log now reports of it, and would never report the end of this.
				if (this.#log.state === 'released') return;
				// The start opens windows that were never reported as closed.
				if (isOpen && !this.#isBlockReported) return;
				this.#isBlockReported = !isOpen;
				observer.blocked?.(why);
				// Nothing is committed now, so only the timer looks for what may be deleted.
				if (!isOpen) this.#armRetain(RETAIN_MS_MIN);
			},
			left: (records) => observer.leftAtExit?.(records),
			damaged: (damage) => observer.damaged?.(damage),
			failed: (error) => observer.failed?.(error),
			synced: (milliseconds) => observer.synced?.(milliseconds),
		};
	}

	/** The reason is null in `receiving` alone. */
	#stateChanged(state: LogState, reason: string | null): void {
		if (this.#isReading && state === 'receiving') {
			this.#isReading = false;
			this.#producers.recovered();
			this.#startForwarding();
		}
		if (state === 'released') {
			const error = new SpockError('UNAVAILABLE', `no events are taken: ${reason}`);
			this.#producers.released(error);
			this.#forwarding?.stop();
			void this.#groups.close(error, 0);
			this.#clock.clearTimeout(this.#retainTimer);
			if (this.#isBlockReported && !this.#isEnding) {
				this.#isBlockReported = false;
				this.#observer.blocked?.(null);
			}
		}
		this.#observer.logState?.(state, reason);
		if (state === 'released' && !this.#isReading && !this.#isEnding) {
			this.#lost?.(new SpockError('UNAVAILABLE', `${reason}`));
		}
	}

	#requireLog(): void {
		const { state, reason } = this.#log;
		if (state !== 'recovering' && state !== 'released') return;
		throw new SpockError('UNAVAILABLE', `no events are taken now: ${reason}`, {
			details: { state },
			isStackless: true,
		});
	}

	/** Deletes what is not needed any more. */
	#retain(): void {
		const nowMs = this.#clock.now();
		if (nowMs - this.#retainedMs < RETAIN_MS_MIN) return;
		this.#retainedMs = nowMs;
		const { below } = this.#trimPlan();
		const { first } = this.#log;
		if (below <= first) return;
		this.#log.trim(below);
		if (this.#log.first > first) this.#observer.trimmed?.(this.#log.first);
	}

	/** Why nothing is taken; of a log that is full also why it is not trimmed now, if it cannot be. */
	#withHold(reason: string): string {
		const { state, first, segments } = this.#log;
		if (state !== 'blocked') return reason;
		const { below, hold } = this.#trimPlan();
		return below <= first
			? `${reason}${holdReason(hold, segments, this.#store.groups(), this.#log.bytes < this.#bytesMax)}`
			: reason;
	}

	#trimPlan(): TrimPlan {
		const groups = holding(this.#store.groups(), this.#forwarding?.isElsewhere);
		return this.#retention.plan(this.#log, groups, this.#forwarding?.holds());
	}

	#startForwarding(): void {
		const log = this.#log;
		this.#producers.elsewhere.recovered((stream) => log.lastOf(stream));
		this.#forwarding?.start(new Set(log.segments.flatMap(({ streams }) => [...streams.keys()])));
	}

	#armRetain(delayMs: number): void {
		this.#clock.clearTimeout(this.#retainTimer);
		if (this.#log.state === 'released') return;
		this.#retainTimer = this.#clock.setTimeout(() => {
			this.#armRetain(RETAIN_MS);
			this.#retain();
			// Another group may hold it by now.
			const { state, reason = '' } = this.#log;
			if (state === 'blocked') this.#producers.setReason(this.#withHold(reason));
		}, delayMs);
		this.#retainTimer.unref?.();
	}
}
