import { SpockError } from '@spock/protocol';
import { Backoff, type Clock, type Random, step, type TimerHandle } from '@spock/protocol/internal';

import type { RecordLog } from '../foundation/event-log.ts';
import type { EventStore } from '../foundation/event-store.ts';
import type { LogEvent } from '../foundation/log-record.ts';
import { asSpockError, Flights } from './flights.ts';
import { type ForwardAction, type ForwardEvent, type ForwardState, forwardMachine } from './forward-machine.ts';
import type { ForwardPlace } from './forward-places.ts';
import { heldNow } from './healing.ts';
import { ReadAhead } from './read-ahead.ts';
import { isRefusal } from './refused-event.ts';

const RETRY_DELAY_MS_MIN = 100;
const RETRY_DELAY_MS_MAX = 10_000;
/** Bugs that a test plants, to see that the tests find them. */
export interface ForwardMistakes {
	readonly advancesOnSend?: boolean;
	readonly keepsInFlight?: boolean;
	readonly refusedBlocks?: boolean;
	readonly parksFirstOfBatch?: boolean;
	readonly parksOnFailure?: boolean;
	readonly stepsBackTooShort?: boolean;
	readonly ignoresHold?: boolean;
	readonly letsGoHeld?: boolean;
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
	/** The store has events of this log up to `held`, which are not in it: it is a copy of an earlier state. This forwarder is of no use. */
	logWentBack(place: ForwardPlace, held: number): void;
	stateChanged(place: ForwardPlace, state: ForwardState): void;
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
	readonly #flights: Flights;
	readonly #ahead: ReadAhead;
	/** Until it is started. */
	#state: ForwardState = 'backing off';
	/** Grows with all that makes what is under way count no more. */
	#attempt = 0;
	#isSending = false;
	#isLooking = false;
	/** There may be events that are stored or parked and were not told of: their acks were lost, or they came before a restart. */
	#isUnsure = true;
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
		this.#ahead = new ReadAhead(host.log, place);
		this.#flights = new Flights({
			clock: host.clock,
			append: (events, stored) => store.append(place.stream, events, stored),
			progress: (events, ackMs) => {
				this.#backoff.reset();
				this.#acked = { events, ackMs };
				this.#handle('progress');
			},
			rejected: (error) => this.#rejected(error),
		});
	}

	get state(): ForwardState {
		return this.#state;
	}

	/** Most bytes in flight, now. */
	get windowBytes(): number {
		return Math.min(this.#flights.window.bytes, this.#host.windowBytesMax);
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
				if (mistakes.keepsInFlight !== true || this.#ahead.cursor === 0) this.#ahead.rewind();
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
				this.#flights.forget();
				if (mistakes.keepsInFlight !== true) this.#ahead.rewind();
				return;
			case 'park':
				void this.#park(this.#attempt, this.#error);
				return;
			case 'report':
				this.#flights.window.failed(clock.now());
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

	async #ask(attempt: number): Promise<void> {
		const { place, store } = this;
		const { mistakes } = this.#host;
		try {
			await this.#flights.settled();
			if (attempt !== this.#attempt) return;
			const from = await heldNow(store, place, mistakes.stepsBackTooShort);
			if (attempt !== this.#attempt) return;
			if (from >= this.#host.log.persisted) {
				this.#host.logWentBack(place, from);
				return;
			}
			const { held } = place;
			this.#host.confirmed(place, from);
			if (from < held) {
				place.stored = from;
				this.#host.wentBack(place, from, held);
			} else {
				place.stored = Math.max(place.stored, from);
				this.#host.reached(place);
			}
			this.#isUnsure = true;
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
				if (!this.#ahead.isEmpty) this.#sendBatch();
				else if (this.#ahead.hasMore) await this.#ahead.read();
				else {
					if (this.#flights.isEmpty) this.#caughtUp();
					break;
				}
			}
		} catch (error) {
			this.#fail('failed', error);
		} finally {
			this.#isSending = false;
		}
	}

	#sendBatch(): void {
		const { mistakes } = this.#host;
		const batch = this.#ahead.take(this.windowBytes, this.#flights.window.inFlight);
		if (batch.length === 0) {
			this.#handle('window used up');
			return;
		}
		if (mistakes.advancesOnSend === true) this.place.stored = (batch.at(-1) as LogEvent).position;
		this.#flights.send(batch);
	}

	#caughtUp(): void {
		const { place } = this;
		place.stored = Math.max(place.stored, this.#ahead.cursor - 1);
		if (this.#isUnsure) this.#host.reached(place);
		this.#isUnsure = false;
		this.#handle('none left');
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

	#rejected(error: SpockError): void {
		const { refusedBlocks, parksFirstOfBatch, parksOnFailure } = this.#host.mistakes;
		const isRefused = (isRefusal(error) && refusedBlocks !== true) || parksOnFailure === true;
		if (isRefused && (parksFirstOfBatch === true || parksOnFailure === true) && this.#state !== 'alone') {
			this.#suspect = this.#flights.first;
			this.#state = 'alone';
		}
		this.#fail(isRefused ? 'refused' : 'failed', error);
	}

	/** The first event that is not stored, once nothing is under way. */
	async #sendAlone(attempt: number): Promise<void> {
		try {
			await this.#flights.settled();
			while (attempt === this.#attempt && this.#ahead.isEmpty) {
				if (!this.#ahead.hasMore) throw new SpockError('UNAVAILABLE', 'a refused event is not in the log any more');
				await this.#ahead.read();
			}
			if (attempt !== this.#attempt) return;
			this.#suspect = this.#ahead.takeOne();
			this.#flights.send([this.#suspect]);
		} catch (error) {
			if (attempt === this.#attempt) this.#fail('failed', error);
		}
	}

	async #park(attempt: number, refusal: SpockError): Promise<void> {
		const { place } = this;
		const suspect = this.#suspect as LogEvent;
		try {
			await this.#host.park(place, suspect, refusal);
			if (attempt !== this.#attempt) return;
			// What is in front of it is stored or parked. Else a store that refuses all would have it sent again once it is forgotten.
			place.stored = Math.max(place.stored, suspect.position);
			this.#handle('parked');
		} catch (error) {
			if (attempt === this.#attempt) this.#fail('failed', error);
		}
	}
}
