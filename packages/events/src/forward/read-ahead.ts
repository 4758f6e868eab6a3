import { SpockError } from '@spock/protocol';

import type { RecordLog } from '../foundation/event-log.ts';
import type { LogEvent } from '../foundation/log-record.ts';
import { sizeOf } from './flights.ts';
import type { ForwardPlace } from './forward-places.ts';

const AHEAD_BYTES_MAX = 1024 * 1024;
const AHEAD_EVENTS_MAX = 4096;
const BATCH_BYTES_MAX = 256 * 1024;
/** Batches in a full window: acks come four times in a round trip. */
const BATCHES_PER_WINDOW = 4;

/** Events of a stream that are on disk and were not sent: at most 1 MiB of them in memory. Parked ones are left out. */
export class ReadAhead {
	readonly #log: Pick<RecordLog, 'read' | 'persisted'>;
	readonly #place: ForwardPlace;
	#events: readonly LogEvent[] = [];
	/** The next of them to be sent. */
	#index = 0;
	/** Where the next read begins. */
	#cursor = 0;
	#generation = 0;

	constructor(log: Pick<RecordLog, 'read' | 'persisted'>, place: ForwardPlace) {
		this.#log = log;
		this.#place = place;
	}

	/** Nothing is in memory. */
	get isEmpty(): boolean {
		return this.#index === this.#events.length;
	}

	/** Every event of the stream below was given by `take`, or is in memory, or is parked. */
	get cursor(): number {
		return this.#cursor;
	}

	/** There may be more on disk. */
	get hasMore(): boolean {
		return this.#cursor < this.#log.persisted;
	}

	/** Begins anew behind what is stored. A read that is under way counts no more. */
	rewind(): void {
		this.#generation++;
		this.#cursor = this.#place.stored + 1;
		this.#events = [];
		this.#index = 0;
	}

	/** Reads on, once nothing is in memory. Rejects with what the log does. One call at a time counts. */
	async read(): Promise<void> {
		const from = this.#cursor;
		const generation = this.#generation;
		const { stream, parked } = this.#place;
		const { events, next } = await this.#log.read(from, {
			...{ stream, bytesMax: AHEAD_BYTES_MAX, eventsMax: AHEAD_EVENTS_MAX },
		});
		if (generation !== this.#generation) return;
		if (next <= from) throw new SpockError('UNAVAILABLE', `the log cannot be read at ${from}`);
		this.#cursor = next;
		this.#events = parked.size === 0 ? events : events.filter(({ position }) => !parked.has(position));
		this.#index = 0;
	}

	/** The next event. */
	takeOne(): LogEvent {
		return this.#events[this.#index++] as LogEvent;
	}

	/** What may be sent now; nothing where the next ack makes room for a batch that is worth it. */
	take(windowBytes: number, inFlight: number): readonly LogEvent[] {
		const room = windowBytes - inFlight;
		const bytesMax = Math.min(BATCH_BYTES_MAX, Math.floor(windowBytes / BATCHES_PER_WINDOW));
		if (inFlight > 0 && room < bytesMax) return [];
		const from = this.#index;
		let bytes = 0;
		for (; !this.isEmpty; this.#index++) {
			bytes += sizeOf(this.#events[this.#index] as LogEvent);
			if (bytes > bytesMax && this.#index > from) break;
			if (bytes > room && inFlight > 0) break;
		}
		return this.#events.slice(from, this.#index);
	}
}
