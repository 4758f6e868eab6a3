import { type ServiceInstance, SpockError } from '@spock/protocol';
import { Backoff, type Clock, type Random, type TimerHandle } from '@spock/protocol/internal';

import type { BackendObserver, BackendWatch } from '../../foundation/backend.ts';
import { isSameList } from '../../foundation/snapshot-diff.ts';

const RETRY_DELAY_MS_MIN = 250;
const RETRY_DELAY_MS_MAX = 30_000;
/** The part of the time to live that is added at random, so that the questions of many do not come at the same moment. */
const JITTER = 0.1;

/** One round of a watch: what is there, and when to ask again, in milliseconds. */
export interface DnsRound {
	readonly instances: readonly ServiceInstance[];
	readonly againMs: number;
}

/** What a {@link DnsWatch} needs. */
export interface DnsWatchOptions {
	readonly resolve: (signal: AbortSignal) => Promise<DnsRound>;
	readonly observer: BackendObserver;
	readonly clock: Clock;
	readonly random: Random;
}

/** Asks again whenever the answer has ended, and sooner and then ever later while there is none. */
export class DnsWatch implements BackendWatch {
	readonly #options: DnsWatchOptions;
	readonly #backoff: Backoff;
	readonly #stopped = new AbortController();
	#timer: TimerHandle | undefined;
	#instances: readonly ServiceInstance[] | undefined;

	constructor(options: DnsWatchOptions) {
		this.#options = options;
		const { random } = options;
		this.#backoff = new Backoff({ delayMsMin: RETRY_DELAY_MS_MIN, delayMsMax: RETRY_DELAY_MS_MAX, random });
	}

	/** Asks for the first time. */
	start(): void {
		const { resolve } = this.#options;
		resolve(this.#stopped.signal).then(
			(round) => this.#answered(round),
			(reason: unknown) => this.#failed(SpockError.from(reason)),
		);
	}

	stop(): void {
		this.#stopped.abort();
		this.#options.clock.clearTimeout(this.#timer);
	}

	#answered({ instances, againMs }: DnsRound): void {
		if (this.#stopped.signal.aborted) return;
		this.#backoff.reset();
		// The very same list while nothing has changed: readers compare by identity first.
		const isSame = this.#instances !== undefined && isSameList(this.#instances, instances);
		if (!isSame) this.#instances = instances;
		// Armed before anybody is told: an observer that throws must not end the watch.
		this.#again(againMs * (1 + this.#options.random() * JITTER));
		this.#options.observer.answered(this.#instances as readonly ServiceInstance[]);
	}

	#failed(error: SpockError): void {
		if (this.#stopped.signal.aborted) return;
		// A question that cannot be asked stays so; any other is asked again.
		if (error.code !== 'BAD_REQUEST') this.#again(this.#backoff.next());
		this.#options.observer.failed(error);
	}

	#again(delayMs: number): void {
		const { clock } = this.#options;
		this.#timer = clock.setTimeout(() => this.start(), Math.ceil(delayMs));
		this.#timer.unref?.();
	}
}
