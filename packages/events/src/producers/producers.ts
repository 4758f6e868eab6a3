import {
	EVENT_BYTES_MAX,
	type OpenProducerData,
	type OpenProducerReply,
	type PublishData,
	type PublishReply,
	SpockError,
	type UplinkFrame,
} from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { LogMemory, RecordLog } from '../foundation/event-log.ts';
import type { Intake, OpenedProducer, ProducerLine, Uplink } from '../foundation/event-sessions.ts';
import type { EventsObserver } from '../foundation/events-observer.ts';
import type { NewEvent, ReplayedRecord } from '../foundation/log-record.ts';
import { EventAppender, type PlantedBugs } from './event-appender.ts';
import { judgeOpening, type NewEpoch, Openings } from './openings.ts';
import type { Producer } from './producer.ts';
import { ProducerSession, ProducerUplink, SessionLine } from './producer-session.ts';
import { encodeNote, overError, ProducerTable } from './producer-table.ts';
import { Publishes } from './publishes.ts';
import { type IsElsewhere, StoredElsewhere } from './stored-elsewhere.ts';
import { type TicketBytes, Tickets } from './tickets.ts';
import { WINDOWS_BYTES_MAX, Windows } from './windows.ts';

/** Call lines of one producer that are told, and uplinks that are read: more than a line that flaps leaves behind. */
export const PRODUCER_CONNECTIONS_MAX = 8;

export interface ProducersOptions {
	readonly log: Pick<RecordLog, 'append' | 'persisted'>;
	readonly clock: Clock;
	readonly observer?: EventsObserver | undefined;
	/** The only streams that events may be written to. Default: any. */
	readonly streams?: ReadonlySet<string> | undefined;
	/** Where `streams` is set, for messages. */
	readonly streamsSetting?: string | undefined;
	readonly ticketBytes?: TicketBytes | undefined;
	readonly producersMax?: number;
	readonly idsMax?: number;
	readonly plantedBugs?: PlantedBugs;
	/** Streams whose events are not stored when they are on disk: `elsewhere` is told when they are. Default: none. */
	readonly isElsewhere?: IsElsewhere | undefined;
}

/**
 * Everything that writes events: producers with their call lines and uplinks, and `publish`. What comes is appended at once; what is
 * told goes out when a commit has ended.
 */
export class Producers implements LogMemory {
	readonly #log: Pick<RecordLog, 'append' | 'persisted'>;
	readonly #clock: Clock;
	readonly #observer: EventsObserver;
	readonly #bugs: PlantedBugs;
	readonly #table: ProducerTable;
	readonly #appender: EventAppender;
	readonly #windows: Windows;
	readonly #tickets: Tickets<SessionLine>;
	readonly #publishes: Publishes;
	/** To be told of what is stored elsewhere. */
	readonly elsewhere: StoredElsewhere;
	readonly #sessions = new Map<Producer, ProducerSession>();
	/** Sessions with a call line: those that have a window. */
	#linedCount = 0;
	readonly #paused = new Set<ProducerUplink>();
	readonly #openings = new Openings();
	/** A producer has used more than half of its window since the last commit. */
	#isTight = false;
	/** Since when the oldest record that is not on disk waits; undefined while none does. */
	#waitingSinceMs: number | undefined;

	constructor(options: ProducersOptions) {
		const { log, clock, observer = {}, streamsSetting = 'streams', plantedBugs = {}, isElsewhere } = options;
		this.#log = log;
		this.#clock = clock;
		this.#observer = observer;
		this.#bugs = plantedBugs;
		this.#table = new ProducerTable(clock, (producer) => this.#sessions.has(producer), options.producersMax);
		this.#appender = new EventAppender({ ...options, observer, streamsSetting, plantedBugs });
		this.elsewhere = new StoredElsewhere(this.#table, isElsewhere ?? (() => false), (producer) => {
			const session = this.#sessions.get(producer);
			session?.tell();
		});
		this.#windows = new Windows({ isCountedTwice: plantedBugs.countsWindowTwice === true });
		this.#tickets = new Tickets(options.ticketBytes);
		this.#publishes = new Publishes(this.#appender);
	}

	get count(): number {
		return this.#table.size;
	}

	/** Events that are not on disk. */
	get waiting(): number {
		return this.#appender.waitingEvents + this.#publishes.count;
	}

	/** Since when the oldest of them waits, in milliseconds; null where none does. */
	get waitingMs(): number | null {
		return this.waiting === 0 || this.#waitingSinceMs === undefined ? null : this.#clock.now() - this.#waitingSinceMs;
	}

	/** Of all windows that are granted now. */
	get windowBytes(): number {
		return this.#windows.grantedBytes;
	}

	get idsForgotten(): number {
		return this.#appender.idsForgotten;
	}

	/** A promise where an epoch begins, which must be on disk first. Throws BAD_REQUEST, OVERLOADED, UNAVAILABLE. */
	open(data: OpenProducerData, line: ProducerLine): OpenedProducer | Promise<OpenedProducer> {
		const known = this.#table.get(data.producer);
		const { begins, told, logLost } = judgeOpening(data, known, line.origin);
		if (known !== undefined && begins === undefined) return this.#admit(known, told, line);
		if (logLost !== undefined) this.#observer.logLost?.(data.producer, logLost, told);
		return this.#begin(begins as NewEpoch, line);
	}

	/** The events of the producer that was given this ticket; undefined for any other text. */
	uplink(ticket: string, intake: Intake): Uplink | undefined {
		const session = this.#tickets.take(ticket)?.session;
		if (session === undefined || session.uplinks.size >= PRODUCER_CONNECTIONS_MAX) return undefined;
		const uplink = new ProducerUplink(session, intake, this.#take, this.#uplinkEnded);
		session.uplinks.add(uplink);
		return uplink;
	}

	/** Rejects with UNAVAILABLE while nothing is taken. */
	async publish(data: PublishData, signal?: AbortSignal): Promise<PublishReply> {
		this.#windows.requireOpen();
		this.#waitingSinceMs ??= this.#clock.now();
		return await this.#publishes.publish(data, signal);
	}

	/** Appends an event that the sidecar itself has made, whatever the windows are; resolves when it is persisted. */
	bury(event: NewEvent): Promise<void> {
		this.#waitingSinceMs ??= this.#clock.now();
		return this.#publishes.bury(event);
	}

	/** Closes the windows for a reason; null opens them. */
	setReason(reason: string | null): void {
		if (this.#windows.setReason(reason)) this.#pushWindows();
	}

	/** Nothing is committed any more: who waits is told so. */
	released(error: SpockError): void {
		this.#publishes.reject(error);
		this.#openings.reject(error);
	}

	/** Everything below is on disk. */
	committed(persisted: number): void {
		const nowMs = this.#clock.now();
		const touched = this.#appender.committed(persisted);
		this.#publishes.committed(persisted);
		for (const producer of touched) {
			producer.seenMs = nowMs;
			const session = this.#sessions.get(producer);
			if (session === undefined) continue;
			if (this.#windows.reason === null) session.granted = this.#windows.current;
			session.tell();
		}
		this.#openings.committed(persisted);
		this.#pace(nowMs);
		this.#resume();
		this.#appender.tellCounts();
	}

	checkpoint(): string {
		return this.#table.checkpoint();
	}

	restore(checkpoint: string): void {
		this.#table.restore(checkpoint);
	}

	replay(record: ReplayedRecord, isKnown = false): void {
		if (!isKnown) this.#table.replay(record);
		this.#appender.replay(record);
	}

	recovered(): void {
		this.#table.recovered();
	}

	readonly #take = (uplink: ProducerUplink, frame: UplinkFrame): 'go on' | 'close' => {
		const { session } = uplink;
		const { producer } = session;
		this.#waitingSinceMs ??= this.#clock.now();
		try {
			if (this.#appender.take(producer, frame) === 'close') {
				if (producer.stoppedAt !== undefined) session.tell();
				return 'close';
			}
		} catch (error) {
			// The log takes nothing: released, or too much waits. The producer sends it again on its next uplink.
			if (SpockError.is(error)) return 'close';
			throw error;
		}
		const { current } = this.#windows;
		if (producer.bytes * 2 > current.bytes || (producer.appended - producer.persisted) * 2 > current.events) {
			this.#isTight = true;
			if (session.isBeyond(current) || this.#appender.waitingBytes > WINDOWS_BYTES_MAX) {
				if (uplink.pause()) this.#paused.add(uplink);
			}
		}
		if (this.#bugs.tellsBeforeCommit === true) {
			producer.persisted = producer.appended;
			session.tell();
		}
		return 'go on';
	};

	readonly #uplinkEnded = (uplink: ProducerUplink): void => {
		this.#paused.delete(uplink);
		uplink.session.uplinks.delete(uplink);
		this.#endSession(uplink.session);
	};

	/** Notes the epoch, and answers once the note is on disk. */
	#begin({ name, epoch, persisted, gaps }: NewEpoch, line: ProducerLine): Promise<OpenedProducer> {
		this.#windows.requireOpen();
		this.#openings.admit();
		this.#table.makeRoom(name);
		const text = encodeNote({ kind: 'opened', producer: name, epoch, persisted, ...(gaps && { gaps }) });
		const position = this.#log.append({ kind: 'note', of: 'producers', text });
		this.#waitingSinceMs ??= this.#clock.now();
		const producer = this.#table.begin(name, epoch, persisted, gaps);
		producer.opener = line.origin;
		return this.#openings.wait(position, () => {
			if (producer.isOver) throw overError(producer);
			return this.#admit(producer, persisted, line, producer.lastId);
		});
	}

	/** `told`: the `persisted` that the producer knows. `lastId`: where its epoch begins. */
	#admit(producer: Producer, told: number, line: ProducerLine, lastId?: string): OpenedProducer {
		producer.heard(told);
		if (!producer.isOpenedAfter(line.origin)) producer.opener = line.origin;
		producer.seenMs = this.#clock.now();
		const session = this.#sessionOf(producer);
		for (const oldest of session.lines) {
			if (session.lines.size < PRODUCER_CONNECTIONS_MAX) break;
			this.#lineEnded(oldest);
		}
		const opened: SessionLine = new SessionLine(
			session,
			line,
			() => this.#answer(opened, told, lastId),
			() => this.#lineEnded(opened),
		);
		session.lines.add(opened);
		if (session.lines.size === 1) this.#count(1);
		return opened;
	}

	#answer(opened: SessionLine, told: number, lastId: string | undefined): OpenProducerReply {
		const { session } = opened;
		const { producer } = session;
		const { current, reason } = this.#windows;
		session.granted = current;
		const { name, epoch, persisted, refusedByStore } = producer;
		const refused = producer.refusedAbove(told);
		const ticket = this.#tickets.give(opened);
		if (!session.lines.has(opened)) this.#tickets.void(ticket);
		return {
			producer: name,
			epoch,
			persisted,
			stored: producer.stored(),
			window: reason === null ? current : { ...current, reason },
			eventBytesMax: EVENT_BYTES_MAX,
			ticket,
			...(refused.length > 0 && { refused }),
			...(refusedByStore.length > 0 && { refusedByStore: [...refusedByStore] }),
			...(lastId !== undefined && { lastId }),
		};
	}

	#sessionOf(producer: Producer): ProducerSession {
		const session = this.#sessions.get(producer) ?? new ProducerSession(producer, this.#windows.current);
		this.#sessions.set(producer, session);
		return session;
	}

	#lineEnded(line: SessionLine): void {
		const { session } = line;
		if (!session.lines.delete(line)) return;
		if (line.ticket !== undefined) this.#tickets.void(line.ticket);
		if (session.lines.size === 0) this.#count(-1);
		this.#endSession(session);
	}

	#endSession(session: ProducerSession): void {
		session.producer.seenMs = this.#clock.now();
		if (session.lines.size === 0 && session.uplinks.size === 0) this.#sessions.delete(session.producer);
	}

	#count(change: 1 | -1): void {
		this.#linedCount += change;
		if (this.#windows.counted(this.#linedCount)) this.#pushWindows();
	}

	#pushWindows(): void {
		const { current, reason } = this.#windows;
		for (const { producer, lines } of this.#sessions.values()) {
			const { name, epoch } = producer;
			const data = { producer: name, epoch, ...current, ...(reason !== null && { reason }) };
			for (const { line, isTold } of lines) if (isTold) line.window(data);
		}
	}

	#pace(nowMs: number): void {
		const sinceMs = this.#waitingSinceMs;
		if (sinceMs === undefined) return;
		const isTight = this.#isTight;
		this.#isTight = false;
		this.#waitingSinceMs = this.waiting > 0 || this.#openings.count > 0 ? nowMs : undefined;
		if (this.#windows.committed(nowMs - sinceMs, isTight, nowMs)) this.#pushWindows();
	}

	#resume(): void {
		if (this.#paused.size === 0 || this.#appender.waitingBytes > WINDOWS_BYTES_MAX) return;
		const { current } = this.#windows;
		for (const uplink of this.#paused) {
			if (uplink.session.isBeyond(current)) continue;
			this.#paused.delete(uplink);
			uplink.resume();
		}
	}
}
