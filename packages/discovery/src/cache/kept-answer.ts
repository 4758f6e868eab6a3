import { knownAgeMs } from '@spock/protocol';
import { type Clock, callOut, type TimerHandle } from '@spock/protocol/internal';

import { settledWithin } from '../foundation/waiting.ts';
import type { KeptValue } from '../state/state-body.ts';

/** The answer of an earlier process is served if the registry has not answered within this. */
const RESTORE_AFTER_MS = 500;
/**
 * A hanging disk must not delay the report that the registry has failed. Slightly less than a read waits for its first answer, because
 * thousands of queries may arrive at once.
 */
const LOAD_MS_MAX = 3500;

/** The age of what was stored by a clock that is ahead of this one: unknown, and not young. */
const UNKNOWN_AGE_MS = 86_400_000;

/** How old is what an earlier process stored with this time of verification, by the wall clock. */
export function storedAgeMs(verifiedAt: number, wallNowMs: number): number {
	const ageMs = knownAgeMs({ ageMs: 0, verifiedAt }, wallNowMs);
	return Number.isFinite(ageMs) ? ageMs : UNKNOWN_AGE_MS;
}

/** The answer of an earlier process to one query: read while the registry is queried, and served if that does not answer. */
export class KeptAnswer<V> {
	readonly #clock: Clock;
	readonly #due: () => void;
	#isLoading = false;
	/** Callbacks that wait for the file, in order: at most what one watch reports within {@link LOAD_MS_MAX}. */
	#deferred: (() => void)[] = [];
	#kept: KeptValue<V> | undefined;
	#timer: TimerHandle | undefined;
	#isAwaited = false;
	#isDropped = false;

	/** Calls `due` when the stored answer must be served; `take` returns it. */
	constructor(clock: Clock, due: () => void) {
		this.#clock = clock;
		this.#due = due;
	}

	load(reading: Promise<KeptValue<V> | undefined>): void {
		const loaded = reading.then((kept) => {
			if (kept === undefined || this.#isDropped) return;
			this.#kept = kept;
			// Too late for the callers that waited, and still useful for later ones.
			if (this.#isAwaited) this.#due();
			else this.#arm();
		});
		this.#isLoading = true;
		void settledWithin(this.#clock, LOAD_MS_MAX, loaded).then(() => {
			const deferred = this.#deferred;
			this.#deferred = [];
			this.#isLoading = false;
			for (const then of deferred) callOut(then);
		});
	}

	/** The stored answer, once it was read. */
	get value(): V | undefined {
		return this.#kept?.value;
	}

	/** When it was verified, in milliseconds since 1970; undefined before it was read. */
	get verifiedAt(): number | undefined {
		return this.#kept?.verifiedAt;
	}

	/** True while it is being read: `then` is called after that, unless a later answer makes it outdated (see `drop`). */
	defer(then: () => void): boolean {
		if (!this.#isLoading || this.#isDropped) return false;
		this.#deferred.push(then);
		return true;
	}

	/** The registry has failed: returns the stored answer, or calls `due` once it is read. */
	take(): KeptValue<V> | undefined {
		const kept = this.#kept;
		this.#isAwaited = true;
		this.#kept = undefined;
		this.#clock.clearTimeout(this.#timer);
		return kept;
	}

	/** The registry has answered: drops the stored answer and the callbacks that wait for it. */
	drop(): void {
		this.#isDropped = true;
		this.#deferred = [];
		this.#kept = undefined;
		this.#clock.clearTimeout(this.#timer);
	}

	#arm(): void {
		this.#timer = this.#clock.setTimeout(() => this.#due(), RESTORE_AFTER_MS);
		this.#timer.unref?.();
	}
}
