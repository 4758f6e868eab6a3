import type { RefusedEvent } from '@spock/protocol';
import { SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { ReplayedRecord } from '../foundation/log-record.ts';
import { Producer } from './producer.ts';

/** Most producers that are known at a time. */
export const PRODUCERS_MAX = 4096;
/**
 * A producer that was heard of within this time is never forgotten. Far longer than a client that lives needs to come back: of one that
 * comes back later, after others have taken its place, events whose ack it did not hear may be there twice.
 */
export const PRODUCER_SEEN_MS: number = 60 * 60 * 1000;
/** The same for one with gaps, which is the log of another sidecar: that may be cut off for days, and counts on being known. */
export const GAPS_SEEN_MS: number = 7 * 24 * PRODUCER_SEEN_MS;

/** What is to be done with a `seq`: `over` is that of an epoch which has ended. */
export type Verdict = 'append' | 'duplicate' | 'gap' | 'over';

export function judge(producer: Producer, seq: number): Verdict {
	if (producer.isOver) return 'over';
	if (seq <= producer.appended) return 'duplicate';
	return producer.hasGaps || seq === producer.appended + 1 ? 'append' : 'gap';
}

/** BAD_REQUEST for an epoch that has ended. */
export function overError({ name, epoch }: Producer): SpockError {
	const message = `epoch ${epoch} of producer ${name} was opened elsewhere: one process at a time may use this name`;
	return new SpockError('BAD_REQUEST', message, {
		details: { path: 'epoch', producer: name, epoch },
		isStackless: true,
	});
}

/** BAD_REQUEST for an epoch that was opened with gaps, and is opened without, or the other way round. */
export function gapsError({ name, epoch, hasGaps }: Producer): SpockError {
	const message = `epoch ${epoch} of producer ${name} was opened with gaps: ${hasGaps}, which stays so`;
	return new SpockError('BAD_REQUEST', message, { details: { path: 'gaps', producer: name }, isStackless: true });
}

/**
 * What the log notes of producers besides their events: an epoch that began, with the `seq` that it goes on from; a `seq` that was
 * taken by a repetition; one that was refused.
 */
export type ProducerNote =
	| {
			readonly kind: 'opened';
			readonly producer: string;
			readonly epoch: number;
			readonly persisted: number;
			/** Absent: it has none. */
			readonly gaps?: true;
	  }
	| {
			readonly kind: 'repeated';
			readonly producer: string;
			readonly epoch: number;
			readonly seq: number;
			/** Absent from those of an earlier version. */
			readonly id?: string;
	  }
	| ({ readonly kind: 'refused'; readonly producer: string; readonly epoch: number } & RefusedEvent);

export function encodeNote(note: ProducerNote): string {
	return JSON.stringify(note);
}

/** Its own writing of an earlier time, so it is not checked. Kinds of a later version are undefined. */
function decodeNote(text: string): ProducerNote | undefined {
	const note = JSON.parse(text) as ProducerNote;
	return note.kind === 'opened' || note.kind === 'repeated' || note.kind === 'refused' ? note : undefined;
}

interface Checkpoint {
	readonly streams: readonly string[];
	readonly producers: readonly SavedProducer[];
}

type SavedProducer = readonly [
	name: string,
	epoch: number,
	appended: number,
	/** In milliseconds since 1970. */
	seenAt: number,
	/** Pairs of the index of a stream and the last `seq` there. */
	places: readonly number[],
	refused: readonly (readonly [seq: number, code: RefusedEvent['code'], message: string])[],
	/** Both absent from a checkpoint of an earlier version. */
	lastId?: string | null,
	hasRefused?: boolean,
	/** Absent: it has none. */
	gaps?: true,
];

/** Every producer that is known, by name: its last epoch, and how far that has come. No I/O; of time it takes only the age of each. */
export class ProducerTable {
	readonly #clock: Clock;
	readonly #producersMax: number;
	readonly #isInUse: (producer: Producer) => boolean;
	readonly #producers = new Map<string, Producer>();
	/** The time of the record before, and what {@link #whenSeen} made of it: thousands of records have the same. */
	#seenAt = Number.NaN;
	#seenMs = 0;

	/** `isInUse`: it has a connection. */
	constructor(clock: Clock, isInUse: (producer: Producer) => boolean, producersMax: number = PRODUCERS_MAX) {
		this.#clock = clock;
		this.#isInUse = isInUse;
		this.#producersMax = producersMax;
	}

	get size(): number {
		return this.#producers.size;
	}

	get(name: string): Producer | undefined {
		return this.#producers.get(name);
	}

	all(): Iterable<Producer> {
		return this.#producers.values();
	}

	/** Before `begin`: there is room for one more. Throws OVERLOADED. */
	makeRoom(name: string): void {
		if (this.#producers.has(name) || this.#producers.size < this.#producersMax || this.#forgetOldest()) return;
		throw new SpockError(
			'OVERLOADED',
			`${this.#producersMax} producers are known, each connected, with events under way or seen within an hour: ` +
				'give processes that restart a producer name, so that each takes the place of the one before; ' +
				'a stream that is relayed here is a producer that is known for seven days',
			{ details: { producersMax: this.#producersMax }, isStackless: true },
		);
	}

	/** Begins an epoch of a producer, and ends the one before. */
	begin(name: string, epoch: number, persisted: number, hasGaps = false): Producer {
		return this.#place(name, epoch, persisted, this.#clock.now(), hasGaps);
	}

	/** JSON of what the records appended so far say. */
	checkpoint(): string {
		const indexes = new Map<string, number>();
		const indexOf = (stream: string): number => {
			const known = indexes.get(stream) ?? indexes.size;
			indexes.set(stream, known);
			return known;
		};
		const now = this.#clock.now();
		const wallNow = this.#clock.wallNow();
		const producers = [...this.#producers.values()].map((producer): SavedProducer => {
			const { name, epoch, appended, seenMs, places, refused } = producer;
			const pairs = [...places.values()].flatMap((place) => [indexOf(place.stream), place.appended]);
			const refusals = refused.map(({ seq, code, message }) => [seq, code, message] as const);
			const seenAt = Math.round(wallNow - (now - seenMs));
			const { lastId = null, hasRefused, hasGaps } = producer;
			const saved = [name, epoch, appended, seenAt, pairs, refusals, lastId, hasRefused] as const;
			return hasGaps ? [...saved, true] : saved;
		});
		return JSON.stringify({ streams: [...indexes.keys()], producers } satisfies Checkpoint);
	}

	restore(checkpoint: string): void {
		const { streams, producers } = JSON.parse(checkpoint) as Checkpoint;
		for (const [name, epoch, appended, seenAt, pairs, refused, lastId, hasRefused = false, gaps] of producers) {
			const producer = this.#place(name, epoch, appended, this.#whenSeen(seenAt), gaps);
			producer.lastId = lastId ?? undefined;
			producer.hasRefused = hasRefused;
			for (let index = 0; index < pairs.length; index += 2) {
				const place = producer.placeIn(streams[pairs[index] as number] as string);
				place.appended = pairs[index + 1] as number;
				place.stored = place.appended;
			}
			for (const [seq, code, message] of refused) producer.refused.push({ seq, code, message });
		}
	}

	/** A record of the log: what it says is on disk. Nothing happens for one that was replayed, or is in the checkpoint. */
	replay(record: ReplayedRecord): void {
		if (record.kind === 'event') {
			if (record.producer === '') return;
			const producer = this.#replayed(record.producer, record.epoch, record.seq, record.time);
			if (producer === undefined) return;
			const place = producer.placeIn(record.stream);
			place.appended = record.seq;
			place.stored = record.seq;
			if (record.id !== undefined) producer.tookId(record.id);
			return;
		}
		if (record.of !== 'producers') return;
		const note = decodeNote(record.text);
		if (note === undefined) return;
		if (note.kind === 'opened') {
			const known = this.#producers.get(note.producer);
			const isNews =
				known === undefined ||
				note.epoch > known.epoch ||
				(note.epoch === known.epoch && note.persisted > known.appended);
			const seenMs = this.#whenSeen(record.time);
			if (isNews) this.#place(note.producer, note.epoch, note.persisted, seenMs, note.gaps);
			return;
		}
		const { producer: name, epoch, seq } = note;
		const producer = this.#replayed(name, epoch, seq, record.time);
		if (producer === undefined) return;
		if (note.kind === 'refused') {
			producer.hasRefused = true;
			producer.refused.push({ seq, code: note.code, message: note.message });
		} else if (note.id !== undefined) producer.tookId(note.id);
	}

	/** All records were replayed: forgets those that are too many. */
	recovered(): void {
		while (this.#producers.size > this.#producersMax && this.#forgetOldest(0));
	}

	/** Takes a `seq` that is on disk; undefined if it is known, or of an epoch that is over. */
	#replayed(name: string, epoch: number, seq: number, time: number): Producer | undefined {
		let producer = this.#producers.get(name);
		if (producer === undefined || epoch > producer.epoch) producer = this.#place(name, epoch, 0, 0);
		if (epoch < producer.epoch || seq <= producer.appended) return undefined;
		producer.appended = seq;
		producer.persisted = seq;
		producer.seenMs = this.#whenSeen(time);
		return producer;
	}

	#place(name: string, epoch: number, persisted: number, seenMs: number, hasGaps = false): Producer {
		const before = this.#producers.get(name);
		if (before !== undefined) before.isOver = true;
		const producer = new Producer(name, epoch, persisted, seenMs, hasGaps);
		producer.lastId = before?.lastId;
		this.#producers.set(name, producer);
		return producer;
	}

	/** By the monotonic clock; a time to come counts as now. */
	#whenSeen(time: number): number {
		if (time !== this.#seenAt) {
			this.#seenAt = time;
			this.#seenMs = this.#clock.now() - Math.max(0, this.#clock.wallNow() - time);
		}
		return this.#seenMs;
	}

	#forgetOldest(seenMs: number = PRODUCER_SEEN_MS): boolean {
		let oldest: Producer | undefined;
		for (const producer of this.#producers.values()) {
			if (producer.appended > producer.persisted || this.#isInUse(producer)) continue;
			if (oldest === undefined || countedMs(producer) < countedMs(oldest)) oldest = producer;
		}
		if (oldest === undefined || this.#clock.now() - countedMs(oldest) < seenMs) return false;
		oldest.isOver = true;
		return this.#producers.delete(oldest.name);
	}
}

/** When it was heard of, and later for one that is to be known for longer. */
function countedMs({ seenMs, hasGaps }: Producer): number {
	return hasGaps ? seenMs + GAPS_SEEN_MS - PRODUCER_SEEN_MS : seenMs;
}
