import { type ConsumeFrom, SpockError } from '@spock/protocol';

import type { EventStore, StoreReader, StoreReaderOptions } from '../foundation/event-store.ts';
import type { LogEvent } from '../foundation/log-record.ts';

/** What a store may do wrong, for tests of the contract and of what is built on a store. */
export interface MemoryStoreMistakes {
	readonly storesTwice?: boolean;
	readonly storesBehindBad?: boolean;
	readonly storesBehindRejected?: boolean;
	readonly forgetsDone?: boolean;
	readonly givesDoneAgain?: boolean;
	readonly neverTellsMore?: boolean;
	readonly unordered?: boolean;
	readonly tellsBackwards?: boolean;
	readonly rewindKeepsDone?: boolean;
	readonly rewindsUncounted?: boolean;
	readonly rewindsBeginAgain?: boolean;
	readonly deletesNothing?: boolean;
}

/** Longest text that it takes. */
const TEXT_LENGTH_MAX = 1000;

interface MemoryGroup {
	position: number;
	readonly done: Set<number>;
	rewinds: number;
}

/** A store in memory: the plainest one that keeps the contract. For tests. */
export class MemoryStore implements EventStore {
	readonly name = 'memory';
	readonly #mistakes: MemoryStoreMistakes;
	/** Shared with those that it is opened again as, like the groups. */
	readonly #streams: Map<string, LogEvent[]>;
	#groups = new Map<string, MemoryGroup>();
	/** Where the rewinds of a new group begin. */
	#rewindsBegin = 0;
	readonly #readers = new Map<MemoryReader, string>();
	/** Streams with a call that was rejected in this tick, and calls that go with it. */
	readonly #rejecting = new Map<string, SpockError>();

	/** `streams`: the events of each, of which others may know as well. */
	constructor(mistakes: MemoryStoreMistakes = {}, streams: Map<string, LogEvent[]> = new Map()) {
		this.#mistakes = mistakes;
		this.#streams = streams;
	}

	/** Another store over the same events and groups. */
	reopened(): MemoryStore {
		const store = new MemoryStore(this.#mistakes, this.#streams);
		if (this.#mistakes.forgetsDone !== true) store.#groups = this.#groups;
		store.#rewindsBegin = this.#rewindsBegin;
		return store;
	}

	/** Loses events that it has acknowledged. */
	lose(stream: string, from: number): void {
		this.#streams.set(
			stream,
			this.#eventsOf(stream).filter(({ position }) => position < from),
		);
	}

	async append(stream: string, events: readonly LogEvent[], stored: (position: number) => void): Promise<void> {
		const rejected = this.#rejecting.get(stream);
		if (rejected !== undefined) throw rejected;
		const held = this.#eventsOf(stream);
		const told: number[] = [];
		let bad: LogEvent | undefined;
		for (const event of events) {
			if (event.text.length > TEXT_LENGTH_MAX) {
				bad ??= event;
				if (this.#mistakes.storesBehindBad === true) continue;
				break;
			}
			const index = held.findIndex(({ position }) => position === event.position);
			if (index === -1) held.push(event);
			else if (this.#mistakes.storesTwice === true) held.splice(index, 0, event);
			told.push(event.position);
		}
		if (this.#mistakes.unordered === true) held.reverse();
		if (this.#mistakes.tellsBackwards === true) told.reverse();
		for (const position of told) stored(position);
		if (told.length > 0 && this.#mistakes.neverTellsMore !== true) this.wake();
		if (bad === undefined) return;
		const message = `the event at ${bad.position} is too long; expected ${TEXT_LENGTH_MAX} characters`;
		const error = new SpockError('FRAME_TOO_LARGE', message);
		if (this.#mistakes.storesBehindRejected !== true) {
			this.#rejecting.set(stream, error);
			queueMicrotask(() => this.#rejecting.delete(stream));
		}
		throw error;
	}

	/** There are more events. */
	wake(): void {
		for (const reader of this.#readers.keys()) reader.more();
	}

	async lastOf(stream: string): Promise<number> {
		return this.#eventsOf(stream).reduce((last, { position }) => Math.max(last, position), 0);
	}

	async holds(stream: string, position: number): Promise<boolean> {
		return (await this.lastOf(stream)) >= position;
	}

	async reader(stream: string, { group, from }: StoreReaderOptions): Promise<StoreReader> {
		const key = `${stream}/${group ?? ''}`;
		const refuse = (reason: string): never => {
			throw new SpockError('BAD_REQUEST', `group "${group}" of stream "${stream}" ${reason}`);
		};
		if (group !== undefined && [...this.#readers.values()].includes(key)) refuse('has a reader; close that first');
		let place = group === undefined ? undefined : this.#groups.get(key);
		if (group !== undefined && place === undefined && from === undefined) refuse('is unknown');
		if (place === undefined) {
			place = { position: this.#positionOf(stream, from ?? 'new'), done: new Set(), rewinds: this.#rewindsBegin };
			if (group !== undefined) this.#groups.set(key, place);
		}
		const reader = new MemoryReader(place, this.#mistakes, {
			events: () => this.#eventsOf(stream),
			positionOf: (to) => this.#positionOf(stream, to),
			closed: () => void this.#readers.delete(reader),
		});
		this.#readers.set(reader, key);
		return reader;
	}

	async deleteGroup(stream: string, group: string): Promise<void> {
		const key = `${stream}/${group}`;
		if (this.#mistakes.deletesNothing === true) return;
		const place = this.#groups.get(key);
		if ([...this.#readers.values()].includes(key) || place === undefined) {
			throw new SpockError('BAD_REQUEST', `group "${group}" of stream "${stream}" has a reader, or is unknown`);
		}
		this.#groups.delete(key);
		if (this.#mistakes.rewindsBeginAgain !== true) this.#rewindsBegin = Math.max(this.#rewindsBegin, place.rewinds + 1);
	}

	async close(): Promise<void> {
		this.#readers.clear();
	}

	#eventsOf(stream: string): LogEvent[] {
		const events = this.#streams.get(stream) ?? [];
		this.#streams.set(stream, events);
		return events;
	}

	#positionOf(stream: string, from: ConsumeFrom): number {
		const events = this.#eventsOf(stream);
		const next = (events.at(-1)?.position ?? 0) + 1;
		if (from === 'new') return next;
		const isThere = ({ position, time }: LogEvent): boolean =>
			from === 'first' || ('time' in from ? time >= from.time : position >= from.position);
		return events.find(isThere)?.position ?? next;
	}
}

interface ReaderSource {
	events(): readonly LogEvent[];
	positionOf(to: ConsumeFrom): number;
	closed(): void;
}

class MemoryReader implements StoreReader {
	readonly #place: MemoryGroup;
	readonly #mistakes: MemoryStoreMistakes;
	readonly #source: ReaderSource;
	readonly #given = new Set<number>();
	#cursor: number;
	more: () => void = () => undefined;

	constructor(place: MemoryGroup, mistakes: MemoryStoreMistakes, source: ReaderSource) {
		this.#place = place;
		this.#mistakes = mistakes;
		this.#source = source;
		this.#cursor = place.position;
	}

	get position(): number {
		const rest = this.#source
			.events()
			.find(({ position }) => position >= this.#place.position && !this.#place.done.has(position));
		return rest?.position ?? Math.max(this.#cursor, this.#place.position);
	}

	get rewinds(): number {
		return this.#place.rewinds;
	}

	async read({ eventsMax, bytesMax }: { eventsMax: number; bytesMax: number }): Promise<readonly LogEvent[]> {
		const page: LogEvent[] = [];
		let bytes = 0;
		for (const event of this.#source.events()) {
			const { position, text } = event;
			const isDone = this.#place.done.has(position) && this.#mistakes.givesDoneAgain !== true;
			if (position < this.#cursor || isDone) continue;
			bytes += text.length;
			if (page.length > 0 && (page.length >= eventsMax || bytes > bytesMax)) break;
			page.push(event);
			this.#given.add(position);
		}
		const last = page.at(-1);
		if (last !== undefined) this.#cursor = last.position + 1;
		return page;
	}

	onMore(listener: () => void): void {
		this.more = listener;
	}

	async done(positions: readonly number[]): Promise<void> {
		for (const position of positions) if (this.#given.delete(position)) this.#place.done.add(position);
	}

	async rewind(to: ConsumeFrom): Promise<number> {
		this.#place.position = this.#source.positionOf(to);
		this.#cursor = this.#place.position;
		this.#given.clear();
		if (this.#mistakes.rewindsUncounted !== true) this.#place.rewinds++;
		if (this.#mistakes.rewindKeepsDone !== true) this.#place.done.clear();
		return this.#cursor;
	}

	async close(): Promise<void> {
		this.#source.closed();
	}
}
