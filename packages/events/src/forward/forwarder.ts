import { Buffer } from 'node:buffer';

import { SpockError } from '@spock/protocol';
import { Backoff, type Clock, type Random, step, type TimerHandle } from '@spock/protocol/internal';

import type { RecordLog } from '../foundation/event-log.ts';
import type { EventStore } from '../foundation/event-store.ts';
import type { LogEvent } from '../foundation/log-record.ts';
import { AdaptiveWindow, type SentBytes } from './adaptive-window.ts';
import { type ForwardAction, type ForwardEvent, type ForwardState, forwardMachine } from './forward-machine.ts';
import type { ForwardPlace } from './forward-places.ts';
import { heldNow } from './healing.ts';
import { isRefusal } from './refused-event.ts';

const RETRY_DELAY_MS_MIN = 100;
const RETRY_DELAY_MS_MAX = 10_000;
/** Read ahead of what is sent. */
const AHEAD_BYTES_MAX = 1024 * 1024;
const AHEAD_EVENTS_MAX = 4096;
const BATCH_BYTES_MAX = 256 * 1024;
/** Batches in a full window: acks come four times in a round trip. */
const BATCHES_PER_WINDOW = 4;
/** What an event takes besides its text, so that many small ones are bounded as well. */
const EVENT_OVERHEAD_BYTES = 128;

/** Bugs that a test plants, to see that the tests find them. */
export interface ForwardMistakes {
	readonly advancesOnSend?: boolean;
	readonly keepsInFlight?: boolean;
	readonly refusedBlocks?: boolean;
	readonly parksFirstOfBatch?: boolean;
	readonly parksOnFailure?: boolean;
	readonly stepsBackTooShort?: boolean;
	readonly ignoresHold?: boolean;
}

/** What a forwarder needs. Nothing here throws. */
export interface ForwarderHost {
	readonly log: Pick<RecordLog, 'read' | 'persisted'>;
	readonly clock: Clock;
	readonly random: Random;
	readonly mistakes: ForwardMistakes;
	/** The part of all windows that one stream may have. */
	readonly windowBytesMax: number;
	/** The store holds everything up to this position: to be kept in `place`. */
	confirmed(place: ForwardPlace, position: number): void;
	/** The store has acknowledged these events, `ackMs` after they were sent. */
	stored(place: ForwardPlace, events: readonly LogEvent[], ackMs: number): void;
	/** Everything up to `place.stored` is stored or parked, whoever has said so. */
	reached(place: ForwardPlace): void;
	/** Puts an event that its store never takes elsewhere; resolves once that is on disk. */
	park(place: ForwardPlace, event: LogEvent, error: SpockError): Promise<void>;
	/** The last word of this forwarder: to be kept in the log. */
	keepPlace(place: ForwardPlace): void;
	/** The store, or the log, failed; it is tried again. */
	failed(place: ForwardPlace, error: SpockError): void;
	/** The store has lost what it had acknowledged above `from`, up to `to`: it is sent again. */
	wentBack(place: ForwardPlace, from: number, to: number): void;
	stateChanged(place: ForwardPlace, state: ForwardState): void;
}

/** Events that were given to the store in one call. */
interface Flight {
	readonly events: readonly LogEvent[];
	readonly sent: SentBytes;
	/** So many are stored. */
	stored: number;
	outcome: { readonly error?: SpockError } | undefined;
}

/**
 * Brings the events of one stream from the log to its store, in order, with at most a window in flight: see {@link forwardMachine}. It keeps
 * nothing but what is in flight and 1 MiB ahead, so a store that is away for hours costs no memory.
 */
export class Forwarder {
	readonly place: ForwardPlace;
	readonly store: EventStore;
	readonly #host: ForwarderHost;
	readonly #backoff: Backoff;
	readonly #window = new AdaptiveWindow();
	/** Until it is started. */
	#state: ForwardState = 'backing off';
	/** Grows with all that makes what is under way count no more. */
	#attempt = 0;
	/** Oldest first. */
	#flight: Flight[] = [];
	/** Calls of the store that are not settled, forgotten ones too. */
	readonly #calls = new Set<Promise<void>>();
	/** Read and not sent, from `#index` on. */
	#ahead: readonly LogEvent[] = [];
	#index = 0;
	/** Where the next read begins. */
	#cursor = 0;
	#isSending = false;
	#isLooking = false;
	/** What was sent alone. */
	#suspect: LogEvent | undefined;
	#acked: { readonly events: readonly LogEvent[]; readonly ackMs: number } | undefined;
	#error = new SpockError('UNAVAILABLE', 'the store failed');
	#retry: TimerHandle | undefined;

	constructor(place: ForwardPlace, store: EventStore, host: ForwarderHost) {
		this.place = place;
		this.store = store;
		this.#host = host;
		this.#backoff = new Backoff({
			delayMsMin: RETRY_DELAY_MS_MIN,
			delayMsMax: RETRY_DELAY_MS_MAX,
			random: host.random,
		});
	}

	get state(): ForwardState {
		return this.#state;
	}

	/** Most bytes in flight, now. */
	get windowBytes(): number {
		return Math.min(this.#window.bytes, this.#host.windowBytesMax);
	}

	/** Asks the store where to begin. Once. */
	start(): void {
		this.#handle('due');
	}

	/** Events of the stream are on disk. */
	appended(): void {
		this.#handle('appended');
	}

	/** Asks whether the store still has what it has acknowledged. */
	async look(): Promise<void> {
		const { held, stream } = this.place;
		const attempt = this.#attempt;
		if (held === 0 || this.#isLooking) return;
		this.#isLooking = true;
		try {
			const isHeld = await this.store.holds(stream, held);
			if (attempt !== this.#attempt) return;
			if (!isHeld) this.#handle('store went back');
			else if (held === this.place.held) this.#host.confirmed(this.place, held);
		} catch (error) {
			if (attempt === this.#attempt) this.#fail('look failed', error);
		} finally {
			this.#isLooking = false;
		}
	}

	/** Nothing is sent or told any more. Idempotent. */
	stop(): void {
		this.#handle('stop');
	}

	#handle(event: ForwardEvent): void {
		const { state, actions } = step(forwardMachine, this.#state, event);
		const hasChanged = state !== this.#state;
		this.#state = state;
		if (hasChanged) this.#host.stateChanged(this.place, state);
		for (const action of actions) this.#act(action);
	}

	#fail(event: 'failed' | 'look failed' | 'refused', error: unknown): void {
		this.#error = asSpockError(error);
		this.#handle(event);
	}

	#act(action: ForwardAction): void {
		const { clock, mistakes } = this.#host;
		switch (action) {
			case 'ask':
				void this.#ask(++this.#attempt);
				return;
			case 'go on':
				if (mistakes.keepsInFlight === true && this.#cursor > 0) return;
				this.#rewind();
				return;
			case 'send':
				void this.#send();
				return;
			case 'send alone':
				void this.#sendAlone(this.#attempt);
				return;
			case 'advance':
				this.#advance();
				return;
			case 'forget in flight':
				this.#attempt++;
				this.#flight = [];
				this.#window.forget();
				if (mistakes.keepsInFlight !== true) this.#rewind();
				return;
			case 'park':
				void this.#park(this.#attempt, this.#error);
				return;
			case 'report':
				this.#window.failed(clock.now());
				this.#host.failed(this.place, this.#error);
				return;
			case 'schedule':
				this.#retry = clock.setTimeout(() => this.#handle('due'), this.#backoff.next());
				this.#retry.unref?.();
				return;
			case 'cancel timer':
				clock.clearTimeout(this.#retry);
				return;
			case 'keep place':
				this.#attempt++;
				this.#host.keepPlace(this.place);
				return;
		}
	}

	/** What is not stored is read again. */
	#rewind(): void {
		this.#cursor = this.place.stored + 1;
		this.#ahead = [];
		this.#index = 0;
	}

	async #ask(attempt: number): Promise<void> {
		const { place, store } = this;
		const { mistakes } = this.#host;
		try {
			await Promise.all(this.#calls);
			if (attempt !== this.#attempt) return;
			const from = await heldNow(store, place, mistakes.stepsBackTooShort);
			if (attempt !== this.#attempt) return;
			const { held } = place;
			this.#host.confirmed(place, from);
			if (from < held) {
				place.stored = from;
				this.#host.wentBack(place, from, held);
			} else {
				place.stored = Math.max(place.stored, from);
				this.#host.reached(place);
			}
			this.#handle('answered');
		} catch (error) {
			if (attempt === this.#attempt) this.#fail('failed', error);
		}
	}

	/** Sends until the window is full, or there is no more on disk. One at a time: what it is called for meanwhile it sees itself. */
	async #send(): Promise<void> {
		if (this.#isSending) return;
		this.#isSending = true;
		try {
			while (this.#state === 'sending') {
				if (this.#index < this.#ahead.length) {
					const batch = this.#takeBatch();
					if (batch.length > 0) this.#append(batch);
					else this.#handle('window used up');
				} else if (!(await this.#read())) {
					// What was appended meanwhile has found this busy.
					if (this.#state !== 'sending' || this.#cursor < this.#host.log.persisted) continue;
					if (this.#flight.length === 0) this.#caughtUp();
					break;
				}
			}
		} catch (error) {
			this.#fail('failed', error);
		} finally {
			this.#isSending = false;
		}
	}

	/** False if there is nothing more on disk. */
	async #read(): Promise<boolean> {
		const { log } = this.#host;
		const { place } = this;
		const from = this.#cursor;
		if (from >= log.persisted) return false;
		const attempt = this.#attempt;
		const limits = { bytesMax: AHEAD_BYTES_MAX, eventsMax: AHEAD_EVENTS_MAX };
		const { events, next } = await log.read(from, { ...limits, stream: place.stream });
		if (attempt !== this.#attempt) return true;
		if (next <= from) throw new SpockError('UNAVAILABLE', `the log cannot be read at ${from}`);
		this.#cursor = next;
		this.#ahead = place.parked.size === 0 ? events : events.filter(({ position }) => !place.parked.has(position));
		this.#index = 0;
		return true;
	}

	#caughtUp(): void {
		const { place } = this;
		place.stored = Math.max(place.stored, this.#cursor - 1);
		this.#host.reached(place);
		this.#handle('none left');
	}

	/** What may be sent now; nothing where waiting for the next ack gives a batch that is worth it. */
	#takeBatch(): readonly LogEvent[] {
		const { windowBytes } = this;
		const { inFlight } = this.#window;
		const room = windowBytes - inFlight;
		const bytesMax = Math.min(BATCH_BYTES_MAX, Math.floor(windowBytes / BATCHES_PER_WINDOW));
		if (inFlight > 0 && room < bytesMax) return [];
		const from = this.#index;
		let bytes = 0;
		for (; this.#index < this.#ahead.length; this.#index++) {
			bytes += sizeOf(this.#ahead[this.#index] as LogEvent);
			if (bytes > bytesMax && this.#index > from) break;
			if (bytes > room && inFlight > 0) break;
		}
		return this.#ahead.slice(from, this.#index);
	}

	#append(events: readonly LogEvent[]): void {
		const { clock, mistakes } = this.#host;
		const { stream } = this.place;
		const attempt = this.#attempt;
		let bytes = 0;
		for (const event of events) bytes += sizeOf(event);
		const flight: Flight = { events, sent: this.#window.sent(bytes, clock.now()), stored: 0, outcome: undefined };
		this.#flight.push(flight);
		const last = (events.at(-1) as LogEvent).position;
		if (mistakes.advancesOnSend === true) this.place.stored = Math.max(this.place.stored, last);
		const call = inTry(() =>
			this.store.append(stream, events, (position) => {
				if (attempt === this.#attempt) this.#progress(position);
			}),
		).then(
			() => {
				flight.outcome = {};
			},
			(error: unknown) => {
				flight.outcome = { error: asSpockError(error) };
			},
		);
		const settled = call.then(() => {
			this.#calls.delete(settled);
			if (attempt === this.#attempt) this.#settle();
		});
		this.#calls.add(settled);
	}

	/** Everything in flight up to a position is stored. */
	#progress(position: number): void {
		const nowMs = this.#host.clock.now();
		const stored: LogEvent[] = [];
		let ackMs = 0;
		for (let head = this.#flight[0]; head !== undefined; head = this.#flight[0]) {
			let bytes = 0;
			for (; head.stored < head.events.length; head.stored++) {
				const event = head.events[head.stored] as LogEvent;
				if (event.position > position) break;
				bytes += sizeOf(event);
				stored.push(event);
			}
			if (bytes > 0) {
				ackMs = nowMs - head.sent.sentMs;
				this.#window.acked(head.sent, bytes, nowMs);
			}
			if (head.stored < head.events.length) break;
			this.#flight.shift();
		}
		if (stored.length === 0) return;
		this.#backoff.reset();
		this.#acked = { events: stored, ackMs };
		this.#handle('progress');
	}

	#advance(): void {
		const acked = this.#acked;
		if (acked === undefined) return;
		this.#acked = undefined;
		const { place } = this;
		const last = (acked.events.at(-1) as LogEvent).position;
		place.stored = Math.max(place.stored, last);
		this.#host.confirmed(place, last);
		this.#host.stored(place, acked.events, acked.ackMs);
	}

	/** Calls that were settled, in the order in which they were made: of those behind a rejected one nothing follows. */
	#settle(): void {
		for (let head = this.#flight[0]; head?.outcome !== undefined; head = this.#flight[0]) {
			const { error } = head.outcome;
			if (error !== undefined) {
				this.#rejected(error);
				return;
			}
			this.#progress((head.events.at(-1) as LogEvent).position);
		}
	}

	#rejected(error: SpockError): void {
		const { refusedBlocks, parksFirstOfBatch, parksOnFailure } = this.#host.mistakes;
		const isRefused = (isRefusal(error) && refusedBlocks !== true) || parksOnFailure === true;
		if (isRefused && (parksFirstOfBatch === true || parksOnFailure === true) && this.#state !== 'alone') {
			const head = this.#flight[0] as Flight;
			this.#suspect = head.events[head.stored];
			this.#state = 'alone';
		}
		this.#fail(isRefused ? 'refused' : 'failed', error);
	}

	/** The first event that is not stored, once nothing is under way. */
	async #sendAlone(attempt: number): Promise<void> {
		try {
			await Promise.all(this.#calls);
			while (attempt === this.#attempt && this.#index === this.#ahead.length) {
				if (!(await this.#read())) throw new SpockError('UNAVAILABLE', 'a refused event is not in the log any more');
			}
			if (attempt !== this.#attempt) return;
			const event = this.#ahead[this.#index++] as LogEvent;
			this.#suspect = event;
			this.#append([event]);
		} catch (error) {
			if (attempt === this.#attempt) this.#fail('failed', error);
		}
	}

	async #park(attempt: number, refusal: SpockError): Promise<void> {
		try {
			await this.#host.park(this.place, this.#suspect as LogEvent, refusal);
			if (attempt === this.#attempt) this.#handle('parked');
		} catch (error) {
			if (attempt === this.#attempt) this.#fail('failed', error);
		}
	}
}

function sizeOf({ text }: LogEvent): number {
	return Buffer.byteLength(text) + EVENT_OVERHEAD_BYTES;
}

/** `async`, so that what a store throws is a rejection as any other. */
async function inTry(call: () => Promise<void>): Promise<void> {
	await call();
}

function asSpockError(error: unknown): SpockError {
	if (SpockError.is(error)) return error;
	const message = error instanceof Error ? error.message : String(error);
	return new SpockError('UNAVAILABLE', message, { cause: error });
}
