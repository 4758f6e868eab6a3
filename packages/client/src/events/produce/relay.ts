import { EVENT_ID_LENGTH_MAX, SpockError } from '@spock/protocol';
import { type Clock, isObject, isText, offAbort, onAbort, wrongType } from '@spock/protocol/internal';
import { OneTimer } from '../../foundation/timers.ts';
import type { EventStream } from './event-stream.ts';
import type { EncodedEvent } from './event-waits.ts';
import type { Producer, ProducerWatcher } from './producer.ts';
import type { AnyRelayedEvent, ResolvedRelayOptions } from './relay-options.ts';

/** What a relay needs of its surroundings. */
export interface RelayPort {
	readonly clock: Clock;
	/** Whether its timers let the process end. */
	readonly unref: boolean;
	/** Throws for what is no event. */
	encode(stream: EventStream, event: AnyRelayedEvent): EncodedEvent;
	/** Opens the producer, which tells the watcher what becomes of it. */
	open(watcher: ProducerWatcher): Producer;
	/** Ends it. `isWhole`: what it has sent is persisted first. */
	end(isWhole: boolean): Promise<void>;
}

/**
 * Brings the events of an outbox, such as a table of a database, to the sidecar, and begins where it has ended: behind the last id that
 * the sidecar has of its producer. One batch at a time: read, sent, on disk, told.
 */
export class Relay implements ProducerWatcher {
	readonly producer: Producer;
	/** Resolves at its end; rejects with what ended it. */
	readonly done: Promise<void>;
	readonly #options: ResolvedRelayOptions;
	readonly #port: RelayPort;
	/** Ends with the relay. */
	readonly #aborter = new AbortController();
	readonly #opening: Promise<string | null>;
	#begin: (after: string | null) => void = () => undefined;
	#error: SpockError | undefined;

	constructor(options: ResolvedRelayOptions, port: RelayPort) {
		this.#options = options;
		this.#port = port;
		this.#opening = new Promise((resolve) => {
			this.#begin = resolve;
		});
		this.producer = port.open(this);
		this.done = this.#run();
	}

	opened(lastId: string | undefined): void {
		this.#begin(lastId ?? null);
	}

	/** An event was refused, or the sidecar takes none of this producer. */
	failed(error: SpockError): void {
		this.#error ??= error;
		this.#aborter.abort();
		// Rejects the calls that wait for an acknowledgement.
		void this.#port.end(false);
	}

	/** Reads no more; what was read is still sent. Resolves at the end, whatever that is. Idempotent. */
	async stop(): Promise<void> {
		this.#aborter.abort();
		await this.done.catch(() => undefined);
	}

	async #run(): Promise<void> {
		const { signal } = this.#options;
		const listener = { handleEvent: () => this.#aborter.abort() };
		if (signal?.aborted === true) this.#aborter.abort();
		else if (signal !== undefined) onAbort(signal, listener);
		try {
			await this.#relay();
		} catch (error) {
			await this.#port.end(false);
			throw this.#error ?? error;
		} finally {
			offAbort(signal, listener);
		}
		await this.#port.end(this.#error === undefined);
		if (this.#error !== undefined) throw this.#error;
	}

	async #relay(): Promise<void> {
		const { eventsMax, pollMs, read, relayed } = this.#options;
		const { signal } = this.#aborter;
		let after = await this.#unlessEnded(this.#opening);
		while (after !== undefined) {
			const events = await this.#unlessEnded(read(after, eventsMax, signal));
			if (events === undefined) return;
			if (!Array.isArray(events)) throw wrongType('what read gives', 'an array of events', events);
			if (events.length === 0) await this.#pause(pollMs);
			else {
				after = await this.#send(events, after);
				await relayed(after);
			}
			if (signal.aborted) return;
		}
	}

	/** Sends a batch, and waits for it; gives the id of its last event. */
	async #send(events: readonly AnyRelayedEvent[], after: string | null): Promise<string> {
		const { buffer, streams, options } = this.producer;
		const patience = { timeoutMs: options.drainTimeoutMs, signal: undefined };
		let last = after;
		for (const event of events) {
			if (!isObject(event)) throw wrongType('an event that read gives', 'an object', event);
			const { id, stream } = event;
			if (!isText(id, EVENT_ID_LENGTH_MAX)) {
				throw wrongType('the id of an event that read gives', `a string of 1 to ${EVENT_ID_LENGTH_MAX} characters`, id);
			}
			if (id === last) throw new RangeError(`read was asked for what is behind ${JSON.stringify(id)}, and gave that`);
			last = id;
			const encoded = this.#port.encode(streams.of(stream), event);
			while (!buffer.hasRoom) await this.#patiently(() => buffer.room(patience));
			buffer.emit(encoded.stream, encoded.body, encoded.bytes);
		}
		await this.#patiently(() => buffer.flush(this.#options.until, patience));
		if (this.#error !== undefined) throw this.#error;
		return last as string;
	}

	/** Nothing is given up for lateness, until it is to end. */
	async #patiently(wait: () => Promise<void>): Promise<void> {
		for (;;) {
			try {
				await wait();
				return;
			} catch (error) {
				if (this.#aborter.signal.aborted || !SpockError.is(error, 'TIMEOUT')) throw error;
			}
		}
	}

	async #pause(delayMs: number): Promise<void> {
		const { clock, unref } = this.#port;
		let timer: OneTimer | undefined;
		const due = new Promise<void>((resolve) => {
			timer = new OneTimer(clock, resolve, unref);
			timer.arm(delayMs);
		});
		await this.#unlessEnded(due);
		timer?.cancel();
	}

	/** Undefined at the end, and then without waiting for it. */
	#unlessEnded<T>(waiting: Promise<T>): Promise<T | undefined> {
		const { signal } = this.#aborter;
		return new Promise((resolve, reject) => {
			const listener = { handleEvent: () => resolve(undefined) };
			if (signal.aborted) resolve(undefined);
			else onAbort(signal, listener);
			Promise.resolve(waiting)
				.then(resolve, reject)
				.finally(() => offAbort(signal, listener));
		});
	}
}
