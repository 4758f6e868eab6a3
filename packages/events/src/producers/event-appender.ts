import { SpockError, type UplinkFrame } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { RecordLog } from '../foundation/event-log.ts';
import type { EventsObserver } from '../foundation/events-observer.ts';
import type { NewEvent, ReplayedRecord } from '../foundation/log-record.ts';
import { DEAD_SUFFIX, FORWARDED_NAME_LENGTH_MAX } from '../foundation/moved-event.ts';
import { IdWindow } from './id-window.ts';
import { PendingEvents } from './pending-events.ts';
import type { Producer, StreamPlace } from './producer.ts';
import { encodeNote, judge, type ProducerNote } from './producer-table.ts';
import type { IsElsewhere } from './stored-elsewhere.ts';
import { StreamCounts } from './stream-counts.ts';

/** Bugs that a test plants, to see that the tests find them. */
export interface PlantedBugs {
	readonly takesGaps?: boolean;
	readonly countsWindowTwice?: boolean;
	readonly forgetsIdsOnRestart?: boolean;
	readonly tellsBeforeCommit?: boolean;
}

export interface EventAppenderOptions {
	readonly log: Pick<RecordLog, 'append' | 'persisted'>;
	readonly clock: Clock;
	readonly observer: EventsObserver;
	/** The only streams that events may be written to. Default: any. */
	readonly streams?: ReadonlySet<string> | undefined;
	/** Where `streams` is set, for the message. */
	readonly streamsSetting: string;
	readonly idsMax?: number | undefined;
	readonly plantedBugs: PlantedBugs;
	/** Default: none is. */
	readonly isElsewhere?: IsElsewhere | undefined;
}

/** Brings events into the log, each `seq` and each id once, and knows which of them are on disk. */
export class EventAppender {
	readonly #log: Pick<RecordLog, 'append' | 'persisted'>;
	readonly #observer: EventsObserver;
	readonly #streams: ReadonlySet<string> | undefined;
	readonly #streamsSetting: string;
	readonly #bugs: PlantedBugs;
	readonly #ids: IdWindow;
	readonly #isElsewhere: IsElsewhere | undefined;
	readonly #pending = new PendingEvents();
	readonly #accepted = new StreamCounts();
	readonly #persisted = new StreamCounts();
	readonly #repeated = new StreamCounts();
	#touched: Producer[] = [];

	constructor(options: EventAppenderOptions) {
		const { log, clock, observer, streams, streamsSetting, idsMax, plantedBugs, isElsewhere } = options;
		this.#log = log;
		this.#observer = observer;
		this.#streams = streams;
		this.#streamsSetting = streamsSetting;
		this.#bugs = plantedBugs;
		this.#ids = new IdWindow(clock, idsMax);
		this.#isElsewhere = isElsewhere;
	}

	/** Events of producers that are not on disk. */
	get waitingEvents(): number {
		return this.#pending.count;
	}

	/** The bytes of their texts. */
	get waitingBytes(): number {
		return this.#pending.bytes;
	}

	/** Every record below is on disk. */
	get persisted(): number {
		return this.#log.persisted;
	}

	/** Ids that were forgotten too early because there were too many. */
	get idsForgotten(): number {
		return this.#ids.forgotten;
	}

	/** What an uplink brings. `close`: it goes on where nothing can be taken any more. Throws what the log does. */
	take(producer: Producer, frame: UplinkFrame): 'go on' | 'close' {
		if (frame.kind === 'fault') {
			this.#observer.refused?.(null, { code: 'BAD_FRAME', message: frame.message });
			return 'close';
		}
		const { seq } = frame;
		const verdict = judge(producer, seq);
		if (verdict === 'duplicate') return 'go on';
		if (verdict !== 'append' && !(verdict === 'gap' && this.#bugs.takesGaps === true)) return 'close';
		if (frame.kind === 'refused') return this.#refuse(producer, seq, null, frame);
		const { stream, key, id, text, bytes } = frame;
		const error = this.streamError(stream);
		if (error !== undefined)
			return this.#refuse(producer, seq, stream, { code: 'BAD_REQUEST', message: error.message });
		if (id !== undefined && this.#ids.find(stream, id) !== undefined) {
			this.#note({ kind: 'repeated', producer: producer.name, epoch: producer.epoch, seq, id }, producer, seq);
			producer.tookId(id);
			this.#repeated.add(stream);
			return 'go on';
		}
		const { name, epoch } = producer;
		const position = this.#log.append({ kind: 'event', producer: name, epoch, seq, stream, key, id, text }, bytes);
		const place = producer.placeIn(stream);
		place.appended = seq;
		place.position = position;
		producer.appended = seq;
		producer.bytes += bytes;
		if (id !== undefined) {
			this.#ids.appended(position);
			producer.tookId(id);
		}
		this.#pending.push(position, producer, seq, place, bytes);
		this.#accepted.add(stream);
		return 'go on';
	}

	/** An event without a producer. Throws BAD_REQUEST, and what the log throws. */
	publish(
		stream: string,
		key: string | undefined,
		id: string | undefined,
		text: string,
	): { readonly position: number; readonly duplicate: boolean } {
		const error = this.streamError(stream);
		if (error !== undefined) throw error;
		const first = id === undefined ? undefined : this.#ids.find(stream, id);
		if (first !== undefined) {
			this.#repeated.add(stream);
			return { position: first, duplicate: true };
		}
		const position = this.#log.append({ kind: 'event', producer: '', epoch: 0, seq: 0, stream, key, id, text });
		if (id !== undefined) this.#ids.appended(position);
		this.#accepted.add(stream);
		return { position, duplicate: false };
	}

	/** An event that the sidecar itself has made. Throws what the log throws. */
	append(event: NewEvent): number {
		const position = this.#log.append(event);
		this.#accepted.add(event.stream);
		return position;
	}

	/** BAD_REQUEST for a stream that is not among those that are set, or whose refused events could not be consumed. */
	streamError(stream: string): SpockError | undefined {
		if (stream.length > FORWARDED_NAME_LENGTH_MAX) {
			const error = this.#lengthError(stream);
			if (error !== undefined) return error;
		}
		const streams = this.#streams;
		if (streams === undefined || streams.has(stream)) return undefined;
		const message = `unknown stream ${JSON.stringify(stream)}: add it to ${this.#streamsSetting}, or write to one of those there`;
		return new SpockError('BAD_REQUEST', message, { details: { path: 'stream', stream }, isStackless: true });
	}

	#lengthError(stream: string): SpockError | undefined {
		const length = stream.length - (stream.endsWith(DEAD_SUFFIX) ? DEAD_SUFFIX.length : 0);
		if (length <= FORWARDED_NAME_LENGTH_MAX || this.#isElsewhere?.(stream) !== true) return undefined;
		const rule = `expected at most ${FORWARDED_NAME_LENGTH_MAX}, so that events which its store refuses have one; use a shorter one`;
		const message = `the stream's name has ${length} characters; ${rule}`;
		return new SpockError('BAD_REQUEST', message, { details: { path: 'stream' }, isStackless: true });
	}

	/** A published event is on disk: they are counted here, and remembered elsewhere. */
	countPersisted(stream: string): void {
		this.#persisted.add(stream);
	}

	/** Everything below is on disk: gives the producers that have come further, and forgets them. */
	committed(persisted: number): readonly Producer[] {
		this.#pending.takeBelow(persisted, this.#onDisk);
		const touched = this.#touched;
		if (touched.length > 0) this.#touched = [];
		for (const producer of touched) producer.isTouched = false;
		return touched;
	}

	tellCounts(): void {
		this.#accepted.take(this.#observer.accepted?.bind(this.#observer));
		this.#persisted.take(this.#observer.persisted?.bind(this.#observer));
		this.#repeated.take(this.#observer.duplicate?.bind(this.#observer));
	}

	/** A record that was found on disk. */
	replay(record: ReplayedRecord): void {
		if (record.kind !== 'event' || record.id === undefined || this.#bugs.forgetsIdsOnRestart === true) return;
		this.#ids.replay(record.stream, record.id, record.position, record.time);
	}

	#refuse(
		producer: Producer,
		seq: number,
		stream: string | null,
		{ code, message }: { readonly code: string; readonly message: string },
	): 'go on' | 'close' {
		if (producer.hasGaps) {
			producer.stoppedAt = { seq, code, message };
			this.#observer.refused?.(stream, { code, message });
			return 'close';
		}
		if (!producer.canRefuse) return 'close';
		this.#note({ kind: 'refused', producer: producer.name, epoch: producer.epoch, seq, code, message }, producer, seq);
		producer.hasRefused = true;
		producer.refused.push({ seq, code, message });
		this.#observer.refused?.(stream, { code, message });
		return 'go on';
	}

	#note(note: ProducerNote, producer: Producer, seq: number): void {
		const position = this.#log.append({ kind: 'note', of: 'producers', text: encodeNote(note) });
		producer.appended = seq;
		this.#pending.push(position, producer, seq, undefined, 0);
	}

	readonly #onDisk = (producer: Producer, seq: number, place: StreamPlace | undefined, bytes: number): void => {
		producer.persisted = seq;
		producer.bytes -= bytes;
		if (place !== undefined) {
			if (this.#isElsewhere?.(place.stream) !== true) producer.storedTo(place, seq);
			this.#persisted.add(place.stream);
		}
		if (producer.isTouched) return;
		producer.isTouched = true;
		this.#touched.push(producer);
	};
}
