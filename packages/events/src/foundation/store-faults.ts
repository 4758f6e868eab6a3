import type { SpockError, StoreFault } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { EventsObserver } from './events-observer.ts';

/** Most faults that are recorded: names may come from clients. */
const FAULTS_MAX = 256;
/** A fault not reported for this long has ended. Longer than every wait between two attempts. */
const FAULT_MS = 120_000;

type Doing = StoreFault['doing'];

interface Fault {
	readonly stream: string;
	readonly doing: Doing;
	readonly sinceMs: number;
	reason: string;
	seenMs: number;
}

/** Stores elsewhere that cannot be used now: to be shown as long as that holds, and reported at its beginning and its end. */
export class StoreFaults {
	readonly #clock: Pick<Clock, 'now'>;
	readonly #observer: Pick<EventsObserver, 'storeFailed' | 'storeUnreadable' | 'storeWorks'>;
	readonly #faults = new Map<string, Fault>();

	constructor(
		clock: Pick<Clock, 'now'>,
		observer: Pick<EventsObserver, 'storeFailed' | 'storeUnreadable' | 'storeWorks'>,
	) {
		this.#clock = clock;
		this.#observer = observer;
	}

	/** What is sent is reported each time, as each time all that was under way is sent again; what is read once. */
	failed(stream: string, doing: Doing, error: SpockError): void {
		const nowMs = this.#clock.now();
		this.#prune(nowMs);
		if (doing === 'sending') this.#observer.storeFailed?.(stream, error);
		const key = keyOf(stream, doing);
		const known = this.#faults.get(key);
		if (known !== undefined) {
			known.reason = error.message;
			known.seenMs = nowMs;
			return;
		}
		if (this.#faults.size >= FAULTS_MAX) return;
		this.#faults.set(key, { stream, doing, sinceMs: nowMs, reason: error.message, seenMs: nowMs });
		if (doing === 'reading') this.#observer.storeUnreadable?.(stream, error);
	}

	works(stream: string, doing: Doing): void {
		const known = this.#faults.get(keyOf(stream, doing));
		if (known === undefined) return;
		this.#faults.delete(keyOf(stream, doing));
		this.#observer.storeWorks?.(stream, this.#clock.now() - known.sinceMs);
	}

	/** What came of reading for consumers; null: it could be read. */
	read(stream: string, error: SpockError | null): void {
		if (error === null) this.works(stream, 'reading');
		else this.failed(stream, 'reading', error);
	}

	/** No consumer reads it any more. */
	unread(stream: string): void {
		this.#faults.delete(keyOf(stream, 'reading'));
	}

	list(): Omit<StoreFault, 'store'>[] {
		const nowMs = this.#clock.now();
		this.#prune(nowMs);
		return [...this.#faults.values()].map(({ stream, doing, reason, sinceMs }) => {
			return { stream, doing, reason, forMs: nowMs - sinceMs };
		});
	}

	/** An observer of what is sent, which this learns from. */
	watching(observer: EventsObserver): EventsObserver {
		return {
			...observer,
			storeFailed: (stream, error) => this.failed(stream, 'sending', error),
			stored: (stream, count, ackMs) => {
				this.works(stream, 'sending');
				observer.stored?.(stream, count, ackMs);
			},
			forwarding: (stream, state) => {
				if (state === 'idle') this.works(stream, 'sending');
				observer.forwarding?.(stream, state);
			},
		};
	}

	#prune(nowMs: number): void {
		for (const [key, { seenMs }] of this.#faults) if (nowMs - seenMs > FAULT_MS) this.#faults.delete(key);
	}
}

/** Names hold no slash. */
function keyOf(stream: string, doing: Doing): string {
	return `${doing}/${stream}`;
}
