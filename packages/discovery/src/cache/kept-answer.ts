import { type Clock, callOut, type TimerHandle } from '@spock/protocol/internal';

import { settledWithin } from '../foundation/waiting.ts';
import type { KeptValue } from '../state/state-body.ts';

/** What an earlier process kept is served when the registry has not answered within this. */
const RESTORE_AFTER_MS = 500;
/**
 * A disk that hangs must not hold up the news that the registry has failed. A little less than a read waits for its first
 * answer, because thousands of questions may come at once.
 */
const LOAD_MS_MAX = 3500;

/** What an earlier process kept of one question: read while the registry is asked, and served where that does not answer. */
export class KeptAnswer<V> {
	readonly #clock: Clock;
	readonly #due: () => void;
	#isLoading = false;
	/** What waits for the file, in order: no more than one watch reports within {@link LOAD_MS_MAX}. */
	#deferred: (() => void)[] = [];
	#kept: KeptValue<V> | undefined;
	#timer: TimerHandle | undefined;
	#isAwaited = false;
	#isDropped = false;

	/** `due` is called when what was kept is to be served; `take` gives it. */
	constructor(clock: Clock, due: () => void) {
		this.#clock = clock;
		this.#due = due;
	}

	/** It is being read. */
	load(reading: Promise<KeptValue<V> | undefined>): void {
		const loaded = reading.then((kept) => {
			if (kept === undefined || this.#isDropped) return;
			this.#kept = kept;
			// Read too late for those who waited, and still good for those to come.
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

	/** What is there to be served, if it was read. */
	get value(): V | undefined {
		return this.#kept?.value;
	}

	/** True while it is being read: `then` is called after that, unless a later answer made it outdated (see `drop`). */
	defer(then: () => void): boolean {
		if (!this.#isLoading || this.#isDropped) return false;
		this.#deferred.push(then);
		return true;
	}

	/** The registry has failed: gives what was kept, now or as soon as it is read. */
	take(): KeptValue<V> | undefined {
		const kept = this.#kept;
		this.#isAwaited = true;
		this.#kept = undefined;
		this.#clock.clearTimeout(this.#timer);
		return kept;
	}

	/** The registry has answered: neither what was kept nor what waits for it is needed any more. */
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
