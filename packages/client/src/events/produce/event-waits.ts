import { SpockError } from '@spock/protocol';
import { type Clock, offAbort, onAbort } from '@spock/protocol/internal';
import { abortedError } from '../../foundation/errors.ts';
import { DeadlineTimer } from '../../foundation/timers.ts';
import type { EventStream } from './event-stream.ts';
import type { Progress } from './outbox.ts';
import { refusedError } from './read-progress.ts';

/** Facts for the details of an error: how far it came. */
export type Reached = Readonly<Record<string, unknown>>;

/** How long a caller waits. */
export interface Patience {
	readonly timeoutMs: number;
	readonly signal: AbortSignal | undefined;
}

/** An event that is encoded. */
export interface EncodedEvent {
	readonly stream: EventStream;
	/** Its line, behind `{"seq":N`. */
	readonly body: string;
	/** Of the text of its data, in UTF-8. */
	readonly bytes: number;
}

/** What the caller of `publish` waits for. */
export type PublishLevel = 'accepted' | 'persisted' | 'stored';

/** Those that wait for the same, in the order in which it comes to them: by seq, or by their making. */
type Place = Map<number, EventWait>;

/** An event that a caller waits for. */
interface AwaitedEvent extends EncodedEvent {
	readonly until: PublishLevel;
	/** Undefined while it waits for room. */
	seq: number | undefined;
}

/** What a caller waits for besides an event. */
interface Awaited {
	/** Asked after every progress. */
	readonly isMet: () => boolean;
	readonly reached: () => Reached;
}

/** One caller, from its call to its end. */
interface EventWait {
	readonly what: 'publish' | 'flush' | 'room';
	readonly awaited: AwaitedEvent | Awaited;
	readonly deadlineMs: number;
	readonly patience: Patience;
	readonly resolve: () => void;
	readonly reject: (error: SpockError) => void;
	/** Where it waits, and as what. */
	place: Place | undefined;
	key: number;
	/** The listener of its signal. */
	handleEvent(): void;
}

/** What the callers that wait depend on, and who depends on them. */
export interface EventWaitsPort {
	/** `seq` of the last event that was sent. */
	sentTo(): number;
	/** Why no event can be sent now, where waiting does not help by itself. */
	obstacle(): SpockError | undefined;
	/** Why none can be sent just now, for people; null if they can be, or for an unknown reason. */
	reason(): string | null;
	/** No caller waits any more. */
	emptied(): void;
}

/**
 * The callers of `publish`, `flush` and `room` that wait, each with its deadline and its signal. Each is settled once, and leaves no
 * timer and no listener behind. An event whose caller gave up is still sent, unless it was still waiting for room.
 */
export class EventWaits {
	readonly #clock: Clock;
	readonly #port: EventWaitsPort;
	readonly #deadlines: DeadlineTimer;
	readonly #all = new Set<EventWait>();
	/** Events that wait for room. */
	readonly #queued: Place = new Map();
	readonly #rooms: Place = new Map();
	readonly #flushes: Place = new Map();
	readonly #persisted: Place = new Map();
	readonly #stored = new Map<EventStream, Place>();
	#persistedTo = 0;
	#made = 0;
	#queuedBytes = 0;

	constructor(clock: Clock, port: EventWaitsPort) {
		this.#clock = clock;
		this.#port = port;
		this.#deadlines = new DeadlineTimer(clock, (isDue) => {
			for (const wait of [...this.#all]) if (isDue(wait.deadlineMs)) this.#timeOut(wait);
		});
	}

	get count(): number {
		return this.#all.size;
	}

	/** Events that wait for room. */
	get queuedCount(): number {
		return this.#queued.size;
	}

	get queuedBytes(): number {
		return this.#queuedBytes;
	}

	/** Callers of `flush` and `room`. */
	get askedCount(): number {
		return this.#flushes.size + this.#rooms.size;
	}

	/** Waits for an event, which was accepted as `seq`, or is queued until there is room. */
	forEvent(event: EncodedEvent, until: PublishLevel, seq: number | undefined, patience: Patience): Promise<void> {
		return new Promise((resolve, reject) => {
			const awaited: AwaitedEvent = { until, seq, ...event };
			const wait = this.#open('publish', awaited, patience, resolve, reject);
			if (seq === undefined) {
				this.#queuedBytes += event.bytes;
				this.#put(wait, this.#queued, ++this.#made);
			} else this.#accepted(wait, awaited, seq);
		});
	}

	/** Waits until this is true. */
	for(what: 'flush' | 'room', awaited: Awaited, patience: Patience): Promise<void> {
		return new Promise((resolve, reject) => {
			const wait = this.#open(what, awaited, patience, resolve, reject);
			this.#put(wait, what === 'room' ? this.#rooms : this.#flushes, ++this.#made);
		});
	}

	/** Settles those whose events have come far enough. */
	progressed(persisted: number): void {
		this.#persistedTo = persisted;
		this.#settleTo(this.#persisted, persisted);
		for (const [stream, place] of this.#stored) {
			this.#settleTo(place, stream.stored);
			if (place.size === 0) this.#stored.delete(stream);
		}
		this.#settleMet(this.#flushes);
	}

	/** There may be room: `accept` is given the queued events in order, and returns their seq, or undefined when there is none. */
	admit(accept: (event: EncodedEvent) => number | undefined): void {
		for (const wait of this.#queued.values()) {
			const awaited = wait.awaited as AwaitedEvent;
			const seq = accept(awaited);
			if (seq === undefined) return;
			this.#leave(wait);
			awaited.seq = seq;
			this.#accepted(wait, awaited, seq);
		}
		this.#settleMet(this.#rooms);
	}

	/** An event is stored nowhere. */
	refused(seq: number, stream: EventStream, error: SpockError): void {
		const wait = this.#persisted.get(seq) ?? this.#stored.get(stream)?.get(seq);
		if (wait !== undefined) this.#end(wait, error);
	}

	/** Stores never take these events, which are persisted. To be told before what is stored, which has gone past them. */
	refusedByStore({ refusedByStore = [] }: Progress): void {
		for (const refusal of refusedByStore) {
			for (const [stream, place] of this.#stored) {
				const wait = place.get(refusal.seq);
				if (wait !== undefined) this.#end(wait, refusedError(refusal, stream.name));
			}
		}
	}

	rejectAll(error: (what: string, reached: Reached) => SpockError): void {
		for (const wait of [...this.#all]) this.#end(wait, error(wait.what, this.#reached(wait)));
	}

	#open(
		what: EventWait['what'],
		awaited: EventWait['awaited'],
		patience: Patience,
		resolve: () => void,
		reject: (error: SpockError) => void,
	): EventWait {
		const { signal, timeoutMs } = patience;
		const deadlineMs = this.#clock.now() + timeoutMs;
		const handleEvent = (): void => {
			const { message, cause } = abortedError(signal, what);
			this.#end(wait, new SpockError('ABORTED', message, { cause, details: this.#reached(wait) }));
		};
		const wait: EventWait = {
			what,
			awaited,
			deadlineMs,
			patience,
			resolve,
			reject,
			place: undefined,
			key: 0,
			handleEvent,
		};
		this.#all.add(wait);
		this.#deadlines.arm(deadlineMs);
		if (signal !== undefined) onAbort(signal, wait);
		return wait;
	}

	#accepted(wait: EventWait, { stream, until }: AwaitedEvent, seq: number): void {
		if (until === 'accepted') this.#end(wait);
		else if (until === 'persisted') this.#put(wait, this.#persisted, seq);
		else {
			const place: Place = this.#stored.get(stream) ?? new Map();
			this.#stored.set(stream, place);
			this.#put(wait, place, seq);
		}
	}

	#put(wait: EventWait, place: Place, key: number): void {
		wait.place = place;
		wait.key = key;
		place.set(key, wait);
	}

	#leave(wait: EventWait): void {
		wait.place?.delete(wait.key);
		if (wait.place === this.#queued) this.#queuedBytes -= (wait.awaited as AwaitedEvent).bytes;
		wait.place = undefined;
	}

	/** Without an error it is resolved. */
	#end(wait: EventWait, error?: SpockError): void {
		this.#all.delete(wait);
		this.#leave(wait);
		offAbort(wait.patience.signal, wait);
		if (error === undefined) wait.resolve();
		else wait.reject(error);
		if (this.#all.size > 0) return;
		this.#deadlines.clear();
		this.#port.emptied();
	}

	/** In the order of their seq, which is that in which they were put there. */
	#settleTo(place: Place, seq: number): void {
		for (const wait of place.values()) {
			if (wait.key > seq) return;
			this.#end(wait);
		}
	}

	#settleMet(place: Place): void {
		for (const wait of place.values()) if ((wait.awaited as Awaited).isMet()) this.#end(wait);
	}

	#timeOut(wait: EventWait): void {
		const { what, patience } = wait;
		const { timeoutMs } = patience;
		const reached = this.#reached(wait);
		const obstacle = this.#port.obstacle();
		const reason = obstacle?.message ?? this.#port.reason();
		const why = reason === null ? '' : `, because ${reason}`;
		const rest = what !== 'publish' ? '' : `; the event ${afterTimeout(reached['reached'])}`;
		const message = `${what}: not done within ${timeoutMs} ms${why}${rest}`;
		const details = { timeoutMs, ...reached, ...(reason !== null && { reason }) };
		this.#end(wait, new SpockError(obstacle?.code ?? 'TIMEOUT', message, { details, cause: obstacle }));
	}

	#reached({ awaited }: EventWait): Reached {
		if (!('stream' in awaited)) return awaited.reached();
		const { stream, seq } = awaited;
		const details = { stream: stream.name, seq: seq ?? null };
		if (seq === undefined) return { ...details, reached: null };
		if (seq <= this.#persistedTo) return { ...details, reached: 'persisted' };
		return { ...details, reached: seq <= this.#port.sentTo() ? 'sent' : 'accepted' };
	}
}

function afterTimeout(reached: unknown): string {
	if (reached === null) return 'was not accepted: there was no room for it';
	return reached === 'persisted' ? 'is persisted' : 'stays in the buffer and is still sent';
}
