import { type Clock, isObject, type Random } from '@spock/protocol/internal';

import type { LogMemory } from '../foundation/event-log.ts';
import type { NewNote, ReplayedRecord } from '../foundation/log-record.ts';
import { REFUSED_SUFFIX } from '../foundation/moved-event.ts';
import { holdFrom, keepPair, type StoredPair } from './healing.ts';

/** Parked positions of a stream that are remembered. Of older ones a store that goes back far is sent the event again, and refuses it again. */
const PARKED_MAX = 4096;

/** How far a stream has come on its way to its store. */
export interface ForwardPlace {
	readonly stream: string;
	/** Every event of the stream up to here is stored or parked. */
	stored: number;
	/** The newest event that the store has acknowledged, or said it holds; 0 if none. */
	held: number;
	/** Earlier values of `held`, ascending. */
	pairs: StoredPair[];
	/** When the store was last known to hold all that it had acknowledged, by the monotonic clock. */
	confirmedMs: number;
	/** Events that the store never takes, and that are in the stream of the refused. */
	readonly parked: Set<number>;
}

/** A place, as it stands in the log. */
interface ForwardNote {
	readonly stream: string;
	readonly stored: number;
	readonly held: number;
	/** When that was known, in milliseconds since 1970. */
	readonly at: number;
}

type SavedPlace = readonly [
	stream: string,
	stored: number,
	held: number,
	at: number,
	/** Of each pair its position, and its time in milliseconds since 1970. */
	pairs: readonly number[],
	parked: readonly number[],
];

/** 103 bits. */
const LOG_ID_LENGTH = 20;

interface Checkpoint {
	readonly logId?: string | undefined;
	readonly places: readonly SavedPlace[];
}

/** The place of each stream that goes to a store elsewhere, as notes in the log have it. It is a hint: the store is asked first. */
export class ForwardPlaces implements LogMemory {
	readonly #clock: Clock;
	readonly #keepStoredMs: number;
	readonly #places = new Map<string, ForwardPlace>();
	/** Tells this log from every other one, for stores that several write to; undefined until it has one. */
	logId: string | undefined;

	constructor(clock: Clock, keepStoredMs: number) {
		this.#clock = clock;
		this.#keepStoredMs = keepStoredMs;
	}

	of(stream: string): ForwardPlace {
		let place = this.#places.get(stream);
		if (place === undefined) {
			place = { stream, stored: 0, held: 0, pairs: [], confirmedMs: 0, parked: new Set() };
			this.#places.set(stream, place);
		}
		return place;
	}

	streams(): Iterable<string> {
		return this.#places.keys();
	}

	/** Nothing of the stream is in the log any more, and nothing of it is on its way. */
	forget(stream: string): void {
		this.#places.delete(stream);
	}

	all(): Iterable<ForwardPlace> {
		return this.#places.values();
	}

	/** For the log. */
	noteOf({ stream, stored, held, confirmedMs }: ForwardPlace): NewNote {
		const note: ForwardNote = { stream, stored, held, at: this.#timeOf(confirmedMs) };
		return { kind: 'note', of: 'store', text: JSON.stringify(note) };
	}

	/** The store holds everything up to `position`, now. */
	confirmed(place: ForwardPlace, position: number, nowMs: number = this.#clock.now()): void {
		place.held = position;
		place.confirmedMs = nowMs;
		place.pairs = keepPair(place.pairs, position, nowMs, this.#keepStoredMs);
	}

	/** Its store has nothing of this log. Gives the note of that. */
	forgetHeld(place: ForwardPlace): NewNote {
		place.held = 0;
		place.pairs = [];
		return this.noteOf(place);
	}

	/** The first position of a stream that must not be trimmed. */
	holdFrom(place: ForwardPlace): number {
		return holdFrom(place, this.#keepStoredMs);
	}

	/** An event was parked: it is never sent again. */
	parked(place: ForwardPlace, position: number): void {
		place.parked.add(position);
		if (place.parked.size <= PARKED_MAX) return;
		for (const oldest of place.parked) {
			place.parked.delete(oldest);
			return;
		}
	}

	checkpoint(): string {
		const saved = [...this.#places.values()].map((place): SavedPlace => {
			const { stream, stored, held, confirmedMs, pairs, parked } = place;
			const flat = pairs.flatMap(({ position, ms }) => [position, this.#timeOf(ms)]);
			return [stream, stored, held, this.#timeOf(confirmedMs), flat, [...parked]];
		});
		return JSON.stringify({ logId: this.logId, places: saved } satisfies Checkpoint);
	}

	restore(checkpoint: string): void {
		const { logId, places } = JSON.parse(checkpoint) as Checkpoint;
		this.logId = logId;
		for (const [stream, stored, held, at, flat, parked] of places) {
			const place = this.of(stream);
			place.stored = stored;
			place.held = held;
			place.confirmedMs = this.#whenWas(at);
			for (let index = 0; index < flat.length; index += 2) {
				place.pairs.push({ position: flat[index] as number, ms: this.#whenWas(flat[index + 1] as number) });
			}
			for (const position of parked) place.parked.add(position);
		}
	}

	replay(record: ReplayedRecord): void {
		if (record.kind === 'event') {
			const { stream, producer, seq } = record;
			if (producer !== '' || seq === 0 || !stream.endsWith(REFUSED_SUFFIX)) return;
			this.parked(this.of(stream.slice(0, -REFUSED_SUFFIX.length)), seq);
			return;
		}
		if (record.of !== 'store') return;
		const note: unknown = JSON.parse(record.text);
		if (isObject(note) && typeof note['logId'] === 'string') this.logId = note['logId'];
		if (!isForwardNote(note)) return;
		const place = this.of(note.stream);
		place.stored = note.stored;
		this.confirmed(place, note.held, this.#whenWas(note.at));
	}

	#timeOf(ms: number): number {
		return Math.round(this.#clock.wallNow() - (this.#clock.now() - ms));
	}

	/** By the monotonic clock; a time to come counts as now. */
	#whenWas(time: number): number {
		return this.#clock.now() - Math.max(0, this.#clock.wallNow() - time);
	}
}

export function newLogId(random: Random): string {
	return Array.from({ length: LOG_ID_LENGTH }, () => Math.floor(random() * 36).toString(36)).join('');
}

/** For the log: it is called so from now on. */
export function identityNote(logId: string): NewNote {
	return { kind: 'note', of: 'store', text: JSON.stringify({ logId }) };
}

function isForwardNote(note: unknown): note is ForwardNote {
	return (
		isObject(note) &&
		typeof note['stream'] === 'string' &&
		typeof note['stored'] === 'number' &&
		typeof note['held'] === 'number' &&
		typeof note['at'] === 'number'
	);
}
