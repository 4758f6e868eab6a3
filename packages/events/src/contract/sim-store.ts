import { Buffer } from 'node:buffer';

import { SpockError } from '@spock/protocol';
import type { Clock, Random } from '@spock/protocol/internal';

import type { EventStore, StoreReader, StoreReaderOptions } from '../foundation/event-store.ts';
import type { LogEvent } from '../foundation/log-record.ts';
import { MemoryStore } from './memory-store.ts';

/** What a simulated store is like. All but the first two may be changed while it runs. */
export interface SimStoreOptions {
	readonly clock: Clock;
	readonly random: Random;
	/** From a call to its answer, without the way of the bytes. Default 1. */
	latencyMs?: number;
	/** Default: without limit. */
	bytesPerSecond?: number;
	/** Newest events of a stream that it knows again. What it does not know it stores, whatever its position. Default: all. */
	dedupeEvents?: number;
	/** False: `lastOf` is undefined. Default true. */
	knowsLast?: boolean;
	/** Events that it never takes. Default: none. */
	refuses?: (event: LogEvent) => boolean;
	/** The probability that a call with several events is refused, though none of them is at fault. Default 0. */
	refusesBatches?: number;
	/** The probability that a call fails with a part of its events stored. Default 0. */
	fails?: number;
	/** The probability that a call is reported as failed although all of its events are stored. Default 0. */
	losesAcks?: number;
	/** Every call is rejected. */
	isAway?: boolean;
}

/** Calls of one stream: what is behind a rejected one is rejected, until none is under way. */
interface Lane {
	underWay: number;
	rejected: SpockError | undefined;
}

/**
 * A store somewhere else, in memory: a pipe of a bandwidth, a latency, answers that are lost, failures, and a disk that may go back to an
 * earlier state. It never changes the order of calls. For tests of what feeds a store.
 */
export class SimStore implements EventStore {
	readonly name = 'simulated';
	readonly options: SimStoreOptions;
	readonly #streams: Map<string, LogEvent[]>;
	readonly #reads: MemoryStore;
	readonly #lanes = new Map<string, Lane>();
	/** Streams that have lost events and whose last one was not asked for since. */
	readonly #unasked = new Set<string>();
	/** When the pipe has room again, and when the last call has arrived there. */
	#freeMs = 0;
	#arrivedMs = 0;
	#answeredMs = 0;
	#isClosed = false;
	/** Calls on their way, in order: what of them arrives when their sender dies. */
	readonly #onTheWay = new Set<() => void>();
	/** Most bytes that were on their way at once. */
	inFlightMax = 0;
	#inFlight = 0;

	constructor(options: SimStoreOptions, streams: Map<string, LogEvent[]> = new Map(), reads?: MemoryStore) {
		this.options = options;
		this.#streams = streams;
		this.#reads = reads ?? new MemoryStore({}, streams);
	}

	/** What it holds of a stream, in the order in which it was stored. */
	eventsOf(stream: string): LogEvent[] {
		const events = this.#streams.get(stream) ?? [];
		this.#streams.set(stream, events);
		return events;
	}

	/** Its client dies: a part of what is on its way arrives, unacknowledged. Gives the store as another client sees it. */
	reopened(): SimStore {
		let rest = Math.floor(this.options.random() * (this.#onTheWay.size + 1));
		for (const arrive of [...this.#onTheWay]) {
			if (rest-- <= 0) break;
			arrive();
		}
		this.#isClosed = true;
		return new SimStore(this.options, this.#streams, this.#reads.reopened());
	}

	/** Loses what it has of a stream from a position on, by a restart: nothing is taken before it was asked what it has. */
	lose(stream: string, from: number): void {
		this.#unasked.add(stream);
		const events = this.eventsOf(stream);
		const kept = events.filter(({ position }) => position < from);
		events.splice(0, events.length, ...kept);
	}

	append(stream: string, events: readonly LogEvent[], stored: (position: number) => void): Promise<void> {
		const { clock, latencyMs = 1, bytesPerSecond = Number.POSITIVE_INFINITY } = this.options;
		const lane = this.#lanes.get(stream) ?? { underWay: 0, rejected: undefined };
		this.#lanes.set(stream, lane);
		lane.underWay++;
		let bytes = 0;
		for (const { text } of events) bytes += Buffer.byteLength(text);
		this.#inFlight += bytes;
		this.inFlightMax = Math.max(this.inFlightMax, this.#inFlight);
		const nowMs = clock.now();
		this.#freeMs = Math.max(nowMs, this.#freeMs) + (bytes * 1000) / bytesPerSecond;
		this.#arrivedMs = Math.max(this.#arrivedMs, this.#freeMs + latencyMs / 2);
		this.#answeredMs = Math.max(this.#answeredMs, this.#arrivedMs + latencyMs / 2);
		const answerMs = this.#answeredMs - this.#arrivedMs;
		return new Promise((resolve, reject) => {
			const arrive = (): (() => void) => {
				this.#onTheWay.delete(arrive);
				return this.#arrive(stream, lane, events, stored);
			};
			this.#onTheWay.add(arrive);
			clock.setTimeout(() => {
				if (this.#isClosed) return;
				const tell = arrive();
				clock.setTimeout(() => {
					if (this.#isClosed) return;
					this.#inFlight -= bytes;
					const error = inTry(tell);
					if (error === undefined) resolve();
					else reject(error);
					lane.underWay--;
					if (lane.underWay === 0) lane.rejected = undefined;
				}, answerMs);
			}, this.#arrivedMs - nowMs);
		});
	}

	async lastOf(stream: string): Promise<number | undefined> {
		await this.#trip();
		this.#unasked.delete(stream);
		return this.options.knowsLast === false ? undefined : this.#lastOf(stream);
	}

	async holds(stream: string, position: number): Promise<boolean> {
		await this.#trip();
		return this.#lastOf(stream) >= position;
	}

	reader(stream: string, options: StoreReaderOptions): Promise<StoreReader> {
		return this.#reads.reader(stream, options);
	}

	deleteGroup(stream: string, group: string): Promise<void> {
		return this.#reads.deleteGroup(stream, group);
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		await this.#reads.close();
	}

	/** Stores what arrives; gives what its caller is to be told, by a call that throws where that is an error. */
	#arrive(stream: string, lane: Lane, events: readonly LogEvent[], stored: (position: number) => void): () => void {
		const { random, refuses, isAway, fails = 0, losesAcks = 0, refusesBatches = 0 } = this.options;
		const rejectedWith = (error: SpockError, last?: number) => {
			lane.rejected ??= error;
			return () => {
				if (last !== undefined) stored(last);
				throw lane.rejected ?? error;
			};
		};
		if (lane.rejected !== undefined) return rejectedWith(lane.rejected);
		if (this.#unasked.has(stream)) return rejectedWith(new SpockError('UNAVAILABLE', 'the store was restarted'));
		if (isAway === true) return rejectedWith(new SpockError('UNAVAILABLE', 'the store is away'));
		if (events.length > 1 && random() < refusesBatches) {
			return rejectedWith(new SpockError('BAD_REQUEST', 'the batch is malformed'));
		}
		const failsAt = random() < fails ? Math.floor(random() * events.length) : -1;
		const isAckLost = random() < losesAcks;
		let last: number | undefined;
		for (const [index, event] of events.entries()) {
			if (index === failsAt) {
				return rejectedWith(new SpockError('UNAVAILABLE', 'the store failed'), isAckLost ? undefined : last);
			}
			if (refuses?.(event) === true) {
				const message = `the event at ${event.position} is refused`;
				return rejectedWith(new SpockError('FRAME_TOO_LARGE', message), last);
			}
			this.#store(stream, event);
			last = event.position;
		}
		this.#reads.wake();
		if (isAckLost) return rejectedWith(new SpockError('UNAVAILABLE', 'the connection was lost'));
		return () => last !== undefined && stored(last);
	}

	#store(stream: string, event: LogEvent): void {
		const held = this.eventsOf(stream);
		const { dedupeEvents = held.length } = this.options;
		for (let index = held.length - 1; index >= 0 && index >= held.length - dedupeEvents; index--) {
			const { position } = held[index] as LogEvent;
			if (position === event.position) return;
			if (position < event.position && dedupeEvents >= held.length) break;
		}
		held.push(event);
	}

	#lastOf(stream: string): number {
		return this.eventsOf(stream).reduce((last, { position }) => Math.max(last, position), 0);
	}

	/** There and back. */
	#trip(): Promise<void> {
		const { clock, latencyMs = 1 } = this.options;
		return new Promise((resolve, reject) => {
			clock.setTimeout(() => {
				if (this.options.isAway === true) reject(new SpockError('UNAVAILABLE', 'the store is away'));
				else if (!this.#isClosed) resolve();
			}, latencyMs);
		});
	}
}

function inTry(tell: () => void): SpockError | undefined {
	try {
		tell();
		return undefined;
	} catch (error) {
		return SpockError.from(error);
	}
}
