import { type ConsumeFrom, SpockError } from '@spock/protocol';

import type { StoreReader } from '../../foundation/event-store.ts';
import type { LogEvent } from '../../foundation/log-record.ts';
import type { StreamTail } from './stream-tail.ts';

/** What a reader without a group needs of its store. */
export interface LoneReaderStore {
	/** The events from a sequence number on; `more` is called when some have come. */
	tail(from: number, more: () => void): StreamTail;
	/** Where in the stream this is, by what the server has now. */
	sequenceOf(from: ConsumeFrom): Promise<number>;
	closed(): void;
}

/** The events of a stream for a reader without a group: nothing that it has done is kept. */
export class LoneReader implements StoreReader {
	readonly rewinds = 0;
	readonly #store: LoneReaderStore;
	readonly #given = new Set<number>();
	#tail: StreamTail;
	#isClosed = false;
	#more: () => void = () => undefined;

	constructor(store: LoneReaderStore, begin: number) {
		this.#store = store;
		this.#tail = store.tail(begin, () => this.#more());
	}

	get position(): number {
		for (const first of this.#given) return first;
		return this.#tail.position;
	}

	async read({ eventsMax, bytesMax }: { eventsMax: number; bytesMax: number }): Promise<readonly LogEvent[]> {
		if (this.#isClosed) return [];
		const tail = this.#tail;
		await tail.ready(eventsMax);
		if (tail !== this.#tail || this.#isClosed) return [];
		const events = tail.take(eventsMax, bytesMax).map(({ event }) => event);
		for (const { position } of events) this.#given.add(position);
		return events;
	}

	onMore(listener: () => void): void {
		this.#more = listener;
	}

	async done(positions: readonly number[]): Promise<void> {
		for (const position of positions) this.#given.delete(position);
	}

	async rewind(to: ConsumeFrom): Promise<number> {
		const position = await this.#store.sequenceOf(to);
		if (this.#isClosed) throw new SpockError('UNAVAILABLE', 'the reader was closed meanwhile; try again');
		this.#tail.close();
		this.#given.clear();
		this.#tail = this.#store.tail(position, () => this.#more());
		return position;
	}

	async close(): Promise<void> {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#tail.close();
		this.#store.closed();
	}
}
