import { type ServiceInstance, SpockError } from '@spock/protocol';
import { ageClockOf, Backoff, type Clock, type Random, type TimerHandle } from '@spock/protocol/internal';

import type { BackendObserver, BackendWatch } from '../../foundation/backend.ts';
import { isSameList } from '../../foundation/snapshot-diff.ts';
import { RETRY_DELAY_MS_MAX, RETRY_DELAY_MS_MIN } from '../../watch/watch-loop.ts';

/** The part of the time to live that is added at random, so that the queries of many do not come at the same moment. */
const JITTER = 0.1;

/** One round of a watch: the instances, and when to query again, in milliseconds. */
export interface DnsRound {
	readonly instances: readonly ServiceInstance[];
	readonly againMs: number;
	/** How much older than this round its oldest part is, in milliseconds. Default 0. */
	readonly olderMs?: number;
}

/** What a {@link DnsWatch} needs. */
export interface DnsWatchOptions {
	readonly resolve: (signal: AbortSignal) => Promise<DnsRound>;
	readonly observer: BackendObserver;
	readonly clock: Clock;
	readonly random: Random;
}

/** Queries again whenever the answer expires; after a failure with the back-off that all watches share. */
export class DnsWatch implements BackendWatch {
	readonly #options: DnsWatchOptions;
	readonly #backoff: Backoff;
	readonly #stopped = new AbortController();
	#timer: TimerHandle | undefined;
	/** True while it waits to ask again after a failure. */
	#isBackingOff = false;
	#instances: readonly ServiceInstance[] | undefined;

	constructor(options: DnsWatchOptions) {
		this.#options = options;
		const { random } = options;
		this.#backoff = new Backoff({ delayMsMin: RETRY_DELAY_MS_MIN, delayMsMax: RETRY_DELAY_MS_MAX, random });
	}

	/** Asks for the first time. */
	start(): void {
		const { resolve, clock } = this.#options;
		this.#isBackingOff = false;
		const ages = ageClockOf(clock);
		const askedAtMs = ages.now();
		resolve(this.#stopped.signal).then(
			(round) => this.#answered(round, ages.now() - askedAtMs),
			(reason: unknown) => this.#failed(SpockError.from(reason)),
		);
	}

	/** Callers wait: ends a back-off. */
	retry(): void {
		if (!this.#isBackingOff || this.#stopped.signal.aborted) return;
		this.#options.clock.clearTimeout(this.#timer);
		this.start();
	}

	stop(): void {
		this.#stopped.abort();
		this.#options.clock.clearTimeout(this.#timer);
	}

	/** An answer is as old as the query for it. */
	#answered({ instances, againMs, olderMs = 0 }: DnsRound, roundMs: number): void {
		if (this.#stopped.signal.aborted) return;
		this.#backoff.reset();
		// The very same list while nothing has changed: readers compare by identity first.
		const isSame = this.#instances !== undefined && isSameList(this.#instances, instances);
		if (!isSame) this.#instances = instances;
		// Armed before the observer is notified: one that throws must not end the watch.
		this.#again(againMs * (1 + this.#options.random() * JITTER));
		this.#options.observer.answered(this.#instances as readonly ServiceInstance[], {
			ageMs: Math.max(roundMs, olderMs),
		});
	}

	#failed(error: SpockError): void {
		if (this.#stopped.signal.aborted) return;
		// DNS cannot express such a query, now or later; any other failure may pass.
		if (error.code !== 'BAD_REQUEST') {
			this.#isBackingOff = true;
			this.#again(this.#backoff.next());
		}
		this.#options.observer.failed(error);
	}

	#again(delayMs: number): void {
		const { clock } = this.#options;
		this.#timer = clock.setTimeout(() => this.start(), Math.ceil(delayMs));
		this.#timer.unref?.();
	}
}
