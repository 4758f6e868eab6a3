import { type Diplomat, type ServiceQuery, type ServiceSnapshot, SpockError } from '@spock/client';
import { serviceError } from '@spock/client/integrations';
import { Backoff, type Clock, inNeutralContext, type Random, type TimerHandle } from '@spock/protocol/internal';

/** A watch that ended by an error is begun again after a random time up to this one, which doubles. */
const RETRY_DELAY_MS_MIN = 1000;
const RETRY_DELAY_MS_MAX = 30_000;

/** What a {@link ServiceWatch} needs and reports. */
export interface ServiceWatchOptions {
	readonly diplomat: Diplomat;
	readonly query: ServiceQuery;
	readonly clock: Clock;
	readonly random: Random;
	next(snapshot: ServiceSnapshot): void;
	/** Nothing is known, or the watch has ended; what was known before may still be right. */
	failed(error: SpockError): void;
}

/** Follows a service until it is stopped: through errors of the watch too, and it says when nothing is known in time. */
export class ServiceWatch {
	readonly #options: ServiceWatchOptions;
	readonly #stopped = new AbortController();
	readonly #backoff: Backoff;
	#timer: TimerHandle | undefined;

	constructor(options: ServiceWatchOptions) {
		this.#options = options;
		const { random } = options;
		this.#backoff = new Backoff({ delayMsMin: RETRY_DELAY_MS_MIN, delayMsMax: RETRY_DELAY_MS_MAX, random });
		// The first call may begin it; it outlives that.
		inNeutralContext(() => {
			void this.#ask();
			void this.#follow();
		});
	}

	/** Nothing is reported after it. */
	stop(): void {
		this.#options.clock.clearTimeout(this.#timer);
		this.#stopped.abort();
	}

	/** A watch waits for its first snapshot for as long as it takes; a question has a time-out, and says what is wrong. */
	async #ask(): Promise<void> {
		const { diplomat, query } = this.#options;
		try {
			await diplomat.getService(query, { signal: this.#stopped.signal });
		} catch (error) {
			this.#fail(error);
		}
	}

	async #follow(): Promise<void> {
		const { diplomat, query, next, clock } = this.#options;
		const { signal } = this.#stopped;
		try {
			for await (const snapshot of diplomat.watchService(query, { signal })) {
				if (signal.aborted) return;
				this.#backoff.reset();
				next(snapshot);
			}
			// The iteration ends without an error when the Diplomat does; it will not begin again.
			this.#fail(new SpockError('CLOSED', `the Diplomat that watched ${JSON.stringify(query.service)} was closed`));
			return;
		} catch (error) {
			this.#fail(error);
		}
		if (signal.aborted) return;
		this.#timer = clock.setTimeout(() => void this.#follow(), this.#backoff.next());
		this.#timer.unref?.();
	}

	#fail(error: unknown): void {
		if (this.#stopped.signal.aborted) return;
		this.#options.failed(serviceError(this.#options.query, error));
	}
}
