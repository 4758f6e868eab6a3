import { EVENT_BYTES_MAX } from '@spock/protocol';
import { overloadedError } from '../../foundation/errors.ts';
import { tooLargeError } from './encode-event.ts';
import type { EventStream, EventStreams } from './event-stream.ts';
import type { EncodedEvent, EventWaits, Patience, PublishLevel, Reached } from './event-waits.ts';
import type { Outbox } from './outbox.ts';
import type { ResolvedProducerOptions } from './producer-options.ts';

/** Callers of `flush` and `room` that may wait at once. */
const ASKED_MAX = 1024;

/** What goes into an outbox: events within its limits, and the callers that wait for them. */
export class EventBuffer {
	/** Longest text of an event's data, in bytes: the sidecar's, once that is known. */
	eventBytesMax: number = EVENT_BYTES_MAX;
	readonly #outbox: Outbox;
	readonly #streams: EventStreams;
	readonly #waits: EventWaits;
	readonly #options: ResolvedProducerOptions;

	constructor(outbox: Outbox, streams: EventStreams, waits: EventWaits, options: ResolvedProducerOptions) {
		this.#outbox = outbox;
		this.#streams = streams;
		this.#waits = waits;
		this.#options = options;
	}

	/** True below the high-water mark. */
	get hasRoom(): boolean {
		const { bytes, count } = this.#outbox.kept;
		return bytes <= this.#options.highWaterBytes && count * 2 <= this.#options.bufferEventsMax;
	}

	/** Accepts an event; returns whether there is room for more. Throws FRAME_TOO_LARGE, OVERLOADED. */
	emit(stream: EventStream, body: string, bytes: number): boolean {
		this.#check(stream.name, bytes);
		// Those that wait for room came first. They fit: the check counts them.
		if (this.#waits.queuedCount > 0) this.#waits.admit((queued) => this.#acceptEvent(queued));
		this.#accept(stream, body, bytes);
		return this.hasRoom;
	}

	/** Accepts an event as soon as there is room, and waits until it has come so far. Throws as `emit` does. */
	publish(event: EncodedEvent, until: PublishLevel, patience: Patience): Promise<void> {
		const { stream, body, bytes } = event;
		this.#check(stream.name, bytes);
		const isFirst = this.hasRoom && this.#waits.queuedCount === 0;
		return this.#waits.forEvent(event, until, isFirst ? this.#accept(stream, body, bytes) : undefined, patience);
	}

	/** Accepts the events that wait for room, as far as there is some. */
	admit(): void {
		this.#waits.admit((queued) => (this.hasRoom ? this.#acceptEvent(queued) : undefined));
	}

	/** Resolves when there is room. */
	async room(patience: Patience): Promise<void> {
		const isMet = (): boolean => this.hasRoom && this.#waits.queuedCount === 0;
		if (!isMet()) await this.#ask('room', isMet, patience);
	}

	/** Resolves when everything that was accepted so far has come to this level. */
	async flush(until: 'persisted' | 'stored', patience: Patience): Promise<void> {
		const isMet = until === 'persisted' ? this.#persistedSoFar() : this.#storedSoFar();
		if (!isMet()) await this.#ask('flush', isMet, patience);
	}

	/** How far the events have come. */
	numbers(): Reached {
		const { kept, persisted } = this.#outbox;
		const stored = Object.fromEntries([...this.#streams.all()].map((stream) => [stream.name, stream.stored]));
		return { accepted: kept.last, persisted, stored };
	}

	#acceptEvent({ stream, body, bytes }: EncodedEvent): number {
		return this.#accept(stream, body, bytes);
	}

	#accept(stream: EventStream, body: string, bytes: number): number {
		const seq = this.#outbox.kept.last + 1;
		this.#outbox.emit(stream, `{"seq":${seq}${body}`, bytes);
		return seq;
	}

	#check(stream: string, bytes: number): void {
		const { kept } = this.#outbox;
		const { bufferBytesMax, bufferEventsMax } = this.#options;
		if (bytes > this.eventBytesMax) throw tooLargeError(stream, bytes, this.eventBytesMax);
		if (kept.bytes + this.#waits.queuedBytes + bytes > bufferBytesMax) {
			throw overloadedError('emit', 'bufferBytesMax', bufferBytesMax);
		}
		if (kept.count + this.#waits.queuedCount >= bufferEventsMax) {
			throw overloadedError('emit', 'bufferEventsMax', bufferEventsMax);
		}
	}

	#ask(what: 'flush' | 'room', isMet: () => boolean, patience: Patience): Promise<void> {
		if (this.#waits.askedCount >= ASKED_MAX) throw overloadedError(what, 'askedMax', ASKED_MAX);
		return this.#waits.for(what, { isMet, reached: () => this.numbers() }, patience);
	}

	#persistedSoFar(): () => boolean {
		const { last } = this.#outbox.kept;
		return () => this.#outbox.persisted >= last;
	}

	/** Of a stream whose last event was refused, the store holds all when it holds the last that was not. */
	#storedSoFar(): () => boolean {
		const wanted = [...this.#streams.all()].map((stream) => ({ stream, accepted: stream.accepted }));
		return () =>
			wanted.every(({ stream: { stored, persisted }, accepted }) => {
				return stored >= accepted || (this.#outbox.persisted >= accepted && stored >= persisted);
			});
	}
}
