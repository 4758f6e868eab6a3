import type { SpockError } from '@spock/protocol';
import { RetrySchedule, whileRefused } from '../connection/retry-schedule.ts';
import type { ResolvedOptions } from '../foundation/options.ts';

/** Subscriptions that the sidecar has refused, and when they are asked for again: all at once. */
export class RefusedSubscriptions<S> {
	readonly #refused = new Set<S>();
	readonly #retry: RetrySchedule;

	constructor(options: ResolvedOptions, subscribe: (subscription: S) => void) {
		this.#retry = new RetrySchedule(whileRefused(options), () => {
			const due = [...this.#refused];
			this.#refused.clear();
			for (const subscription of due) subscribe(subscription);
		});
	}

	add(subscription: S, error: SpockError): void {
		this.#refused.add(subscription);
		this.#retry.schedule(error);
	}

	/** True if it was one of them, and is to be asked for by whoever says this. */
	delete(subscription: S): boolean {
		return this.#refused.delete(subscription);
	}

	/** A subscription was made: once none is refused, delays start afresh. */
	accepted(): void {
		if (this.#refused.size === 0) this.#retry.reset();
	}

	/** Forgets all of them. */
	clear(): void {
		this.#retry.cancel();
		this.#refused.clear();
	}
}
