import { SpockError } from '@spock/protocol';
import type { Clock, Random } from '@spock/protocol/internal';

import type { LogMemory, RecordLog } from '../foundation/event-log.ts';
import type { EventStore } from '../foundation/event-store.ts';
import type { EventsObserver } from '../foundation/events-observer.ts';
import type { LogEvent, NewEvent, ReplayedRecord } from '../foundation/log-record.ts';
import { REFUSED_SUFFIX } from '../foundation/moved-event.ts';
import { WINDOW_BYTES_MIN } from './adaptive-window.ts';
import { type ForwardPlace, ForwardPlaces, identityNote, newLogId } from './forward-places.ts';
import { Forwarder, type ForwarderHost, type ForwardMistakes } from './forwarder.ts';
import { oldLogError } from './healing.ts';
import { PlaceKeeper } from './place-keeper.ts';
import { parkedError, refusedEventOf } from './refused-event.ts';
import { StoreLooks } from './store-looks.ts';
import { endedError, StoredWaits } from './stored-waits.ts';

/** Above JetStream's sync interval of two minutes, within which it may lose what it has acknowledged. */
const DEFAULT_KEEP_STORED_MS = 150_000;
/** Of all streams together. */
const WINDOWS_BYTES_MAX = 32 * 1024 * 1024;
/** Streams with nothing to send whose stores are asked on, each minute, for what they may have lost. */
const DEFAULT_IDLE_STREAMS_MAX = 256;

export interface ForwardingOptions {
	/** The store of a stream; undefined for one that stays in the sidecar's own log. Always the same for a name. Not closed by this. */
	readonly storeOf: (stream: string) => EventStore | undefined;
	/** Told a name that this log alone has, for as long as it is there, before any event is given to a store. */
	readonly identified?: (logId: string) => void;
	/** How long what a store has acknowledged is kept, so that it can be sent again. Default 150000. */
	readonly keepStoredMs?: number;
	/**
	 * Streams that have all at their stores, for longer than `keepStoredMs`, and of which a state is kept, with the connection that a store may have for
	 * each. The ones used longest ago are released until their next event. Default 256.
	 */
	readonly idleStreamsMax?: number;
	/** For tests, which must notice them. Default: none. */
	readonly mistakes?: ForwardMistakes;
}

/** What forwarding needs of the service whose log it empties. */
export interface ForwardingHost {
	readonly log: Pick<RecordLog, 'append' | 'read' | 'first' | 'persisted' | 'lastOf'>;
	readonly clock: Clock;
	readonly random: Random;
	readonly observer: EventsObserver;
	/** Events of a stream in the log above a position, about. */
	countAbove(stream: string, position: number): number;
	/** Appends an event that the sidecar itself has made; resolves when it is persisted. */
	bury(event: NewEvent): Promise<void>;
	/** The store of its stream never takes this event, which is in the stream of the refused. */
	refused(event: LogEvent, error: SpockError): void;
	/** These events of a stream are stored. */
	stored(stream: string, events: readonly LogEvent[]): void;
	/** Every event of the stream up to this position is stored. */
	reached(stream: string, position: number): void;
}

/** All streams that go from the log to a store elsewhere: a forwarder for each. */
export class Forwarding implements LogMemory {
	readonly #options: ForwardingOptions;
	readonly #host: ForwardingHost;
	readonly #places: ForwardPlaces;
	readonly #forwarders = new Map<string, Forwarder>();
	readonly #forwarderHost: ForwarderHost;
	readonly #waits = new StoredWaits();
	/** Streams with events, until it begins. */
	readonly #waiting = new Set<string>();
	/** Where the log says what it is called. */
	#identifiedAt: number = Number.POSITIVE_INFINITY;
	/** Those that are not idle: they share the windows. */
	readonly #busy = new Set<ForwardPlace>();
	readonly #keeper: PlaceKeeper;
	/** Called at each progress, while it is drained. */
	#drained: (() => void) | undefined;
	readonly #looks: StoreLooks;
	#state: 'new' | 'running' | 'stopped' = 'new';

	constructor(options: ForwardingOptions, host: ForwardingHost) {
		this.#options = options;
		this.#host = host;
		const { log, clock } = host;
		this.#places = new ForwardPlaces(clock, options.keepStoredMs ?? DEFAULT_KEEP_STORED_MS);
		this.#keeper = new PlaceKeeper(log, clock, this.#places);
		this.#forwarderHost = this.#makeForwarderHost();
		const all = (): Iterable<Forwarder> => this.#forwarders.values();
		this.#looks = new StoreLooks(clock, all, () => this.#letGo());
	}

	/** The store of a stream; undefined for one that stays in the log, as that of refused events does. */
	storeOf(stream: string): EventStore | undefined {
		return stream.endsWith(REFUSED_SUFFIX) ? undefined : this.#options.storeOf(stream);
	}

	/** True for a stream that does not stay in the log. */
	readonly isElsewhere = (stream: string): boolean => this.storeOf(stream) !== undefined;

	/** An observer of producers, which tells this of what is on disk. */
	watching(observer: EventsObserver): EventsObserver {
		const persisted = (stream: string, count: number): void => {
			observer.persisted?.(stream, count);
			this.appended(stream);
		};
		return { ...observer, persisted };
	}

	/** The log was read, and has events of these streams. */
	start(streams: Iterable<string>): void {
		// A segment with very many streams does not count each, but a place tells of it.
		for (const stream of [...streams, ...this.#places.streams()]) this.#waiting.add(stream);
		if (this.#places.logId === undefined) {
			this.#identifiedAt = this.#identify();
			this.committed();
		} else this.#begin(this.#places.logId);
	}

	/** More is on disk. A store is given nothing under a name that a crash could still take from the log. */
	committed(): void {
		const { logId } = this.#places;
		if (this.#state !== 'new' || logId === undefined || this.#host.log.persisted <= this.#identifiedAt) return;
		this.#begin(logId);
	}

	/** Events of a stream are on disk. */
	appended(stream: string): void {
		if (this.#state === 'new') this.#waiting.add(stream);
		if (this.#state !== 'running') return;
		const known = this.#forwarders.get(stream);
		const store = known?.store ?? this.storeOf(stream);
		known?.appended();
		if (known !== undefined || store === undefined) return;
		const forwarder = new Forwarder(this.#places.of(stream), store, this.#forwarderHost);
		this.#forwarders.set(stream, forwarder);
		forwarder.start();
	}

	/** Resolves once the store has the event. Rejects with what its store refuses it for, OVERLOADED, ABORTED or UNAVAILABLE (the sidecar ends). */
	async untilStored(stream: string, position: number, signal?: AbortSignal): Promise<void> {
		if (this.storeOf(stream) === undefined) return;
		const { stored, parked } = this.#places.of(stream);
		if (parked.has(position)) throw parkedError(stream);
		if (stored >= position) return;
		if (this.#state === 'stopped') throw endedError();
		await this.#waits.wait(stream, position, signal);
	}

	/** For each stream the first position that must not be trimmed. */
	holds(): readonly { readonly stream: string; readonly position: number }[] {
		if (this.#options.mistakes?.ignoresHold === true) return [];
		const { persisted } = this.#host.log;
		const waiting = [...this.#waiting].filter(this.isElsewhere).map((stream) => this.#places.of(stream));
		const running = [...this.#forwarders.values()].map((forwarder) => {
			const { place } = forwarder;
			// Else a segment with more streams than it counts would be kept for those that get nothing new.
			return { stream: place.stream, position: this.#isWhole(forwarder) ? persisted : this.#places.holdFrom(place) };
		});
		return [...running, ...waiting.map((place) => ({ stream: place.stream, position: this.#places.holdFrom(place) }))];
	}

	/** Streams of which a state is kept. */
	get streams(): number {
		return this.#forwarders.size;
	}

	checkpoint(): string {
		return this.#places.checkpoint();
	}

	restore(checkpoint: string): void {
		this.#places.restore(checkpoint);
	}

	replay(record: ReplayedRecord, isKnown = false): void {
		if (isKnown) return;
		this.#places.replay(record);
		// Its segment may not count it.
		if (record.kind === 'event' && this.isElsewhere(record.stream)) this.#waiting.add(record.stream);
	}

	/** Waits until all that was taken is stored, `drainMs` at most, says what is left, and stops. */
	async close(drainMs: number): Promise<void> {
		if (this.#state === 'stopped') return;
		for (const stream of await this.drain(drainMs)) {
			this.#host.observer.unstoredAtExit?.(stream, this.unstored(stream));
		}
		this.stop();
	}

	/** Events of a stream that are in the log and not stored, about; 0 for one that stays there. */
	unstored(stream: string): number {
		if (this.storeOf(stream) === undefined) return 0;
		return this.#host.countAbove(stream, this.#places.of(stream).stored);
	}

	/** Resolves when all that was taken is stored, or after `drainMs`. Gives the streams that have more. */
	async drain(drainMs: number): Promise<readonly string[]> {
		const { clock } = this.#host;
		if (this.#state === 'running' && this.#left().length > 0 && drainMs > 0) {
			await new Promise<void>((resolve) => {
				const deadline = clock.setTimeout(resolve, drainMs);
				this.#drained = () => {
					if (this.#left().length > 0) return;
					clock.clearTimeout(deadline);
					resolve();
				};
			});
			this.#drained = undefined;
		}
		return this.#left();
	}

	/** Nothing is sent any more. Each place is kept in the log, where that still takes records. Idempotent. */
	stop(): void {
		if (this.#state === 'stopped') return;
		this.#state = 'stopped';
		this.#looks.stop();
		this.#keeper.stop();
		for (const forwarder of this.#forwarders.values()) forwarder.stop();
		this.#waits.rejectAll(endedError());
		this.#drained?.();
	}

	#begin(logId: string): void {
		if (this.#state !== 'new') return;
		this.#state = 'running';
		this.#options.identified?.(logId);
		for (const stream of this.#waiting) this.appended(stream);
		this.#waiting.clear();
		this.#looks.start();
	}

	/** Gives where that stands. */
	#identify(): number {
		const { log, random } = this.#host;
		const logId = newLogId(random);
		const position = log.append(identityNote(logId));
		this.#places.logId = logId;
		return position;
	}

	/**
	 * Goes on under another name, by which no store has anything: under this one it would take the next events for those that it has at their
	 * positions. What the log knows to be stored is not sent again.
	 */
	#rename(): void {
		this.#state = 'new';
		this.#looks.stop();
		for (const [stream, forwarder] of this.#forwarders) {
			forwarder.stop();
			this.#waiting.add(stream);
		}
		this.#forwarders.clear();
		this.#busy.clear();
		try {
			for (const place of this.#places.all()) this.#host.log.append(this.#places.forgetHeld(place));
			this.#identifiedAt = this.#identify();
		} catch (error) {
			// The log takes nothing any more: the next start finds the same.
			if (!SpockError.is(error)) throw error;
		}
	}

	#left(): readonly string[] {
		const { log } = this.#host;
		return [...this.#forwarders.values()]
			.filter(({ place }) => log.lastOf(place.stream) > place.stored)
			.map(({ place }) => place.stream);
	}

	#makeForwarderHost(): ForwarderHost {
		const { log, clock, random, observer } = this.#host;
		const windowBytesMax = (): number =>
			Math.max(WINDOW_BYTES_MIN, Math.floor(WINDOWS_BYTES_MAX / Math.max(1, this.#busy.size)));
		return {
			...{ log, clock, random, mistakes: this.#options.mistakes ?? {} },
			get windowBytesMax() {
				return windowBytesMax();
			},
			confirmed: (place, position) => this.#places.confirmed(place, position),
			stored: (place, events, ackMs) => {
				observer.stored?.(place.stream, events.length, ackMs);
				this.#host.stored(place.stream, events);
				this.#moved(place);
			},
			reached: (place) => {
				this.#host.reached(place.stream, place.stored);
				this.#moved(place);
			},
			park: async (place, event, error) => {
				const onDisk = this.#host.bury(refusedEventOf(event, error));
				// Now, as the log may begin a segment before it is on disk, whose checkpoint must have it.
				this.#places.parked(place, event.position);
				try {
					await onDisk;
				} catch (failure) {
					place.parked.delete(event.position);
					throw failure;
				}
				observer.parked?.(place.stream, error);
				this.#host.refused(event, error);
				this.#waits.refused(place.stream, event.position, error);
			},
			keepPlace: (place) => this.#keeper.keep(place),
			failed: ({ stream }, error) => observer.storeFailed?.(stream, error),
			wentBack: (place, from, to) => {
				observer.storeWentBack?.(place.stream, from, to);
				this.#moved(place);
			},
			logWentBack: (place, held) => {
				observer.storeFailed?.(place.stream, oldLogError(place.stream, held));
				this.#rename();
			},
			stateChanged: (place, state) => {
				if (state === 'idle' || state === 'stopped') this.#busy.delete(place);
				else this.#busy.add(place);
				observer.forwarding?.(place.stream, state);
			},
		};
	}

	#moved(place: ForwardPlace): void {
		this.#waits.reached(place.stream, place.stored);
		this.#keeper.moved(place);
		this.#drained?.();
	}

	/** Its store has all, and has had it for long enough not to lose it. */
	#isWhole({ place, state }: Forwarder): boolean {
		if (this.#options.mistakes?.letsGoHeld === true) return state === 'idle';
		return state === 'idle' && this.#places.holdFrom(place) > place.held;
	}

	/** Streams that come once and never again must not cost for ever: neither memory, nor room in each checkpoint. */
	#letGo(): void {
		if (this.#state !== 'running') return;
		const idleMax = this.#options.idleStreamsMax ?? DEFAULT_IDLE_STREAMS_MAX;
		const whole = [...this.#forwarders.values()].filter((forwarder) => this.#isWhole(forwarder));
		whole.sort((one, other) => one.place.stored - other.place.stored);
		for (const forwarder of whole.slice(0, Math.max(0, whole.length - idleMax))) {
			const { stream } = forwarder.place;
			forwarder.stop();
			this.#forwarders.delete(stream);
			forwarder.store.leave?.(stream);
		}
		for (const { stream, stored } of this.#places.all()) {
			// Nothing above it is in the log, or it would have a forwarder; and nothing below.
			if (!this.#forwarders.has(stream) && stored < this.#host.log.first) this.#places.forget(stream);
		}
	}
}
