import { SpockError } from '@spock/protocol';
import { Backoff, type Clock, type Random, type TimerHandle } from '@spock/protocol/internal';

import type { OwnedInstance } from './registrar.ts';

/** Delays between attempts to find at the registry what was registered before. */
const DELAY_MS_MIN = 250;
const DELAY_MS_MAX = 5000;

/** What an {@link Adoption} acts on. */
export interface AdoptionOptions {
	readonly clock: Clock;
	readonly random?: Random;
	readonly find: () => Promise<readonly OwnedInstance[]>;
	/** Told once. */
	readonly found: (instances: readonly OwnedInstance[]) => void;
	/** Told of every attempt that failed; the next one comes by itself. */
	readonly failed: (error: SpockError) => void;
}

/** Asks the registry for what was registered before a restart, until it answers. */
export class Adoption {
	readonly #options: AdoptionOptions;
	readonly #backoff: Backoff;
	readonly #waiting = new Set<() => void>();
	#state: 'idle' | 'asking' | 'ended' = 'idle';
	#timer: TimerHandle | undefined;

	constructor(options: AdoptionOptions) {
		const { random } = options;
		this.#options = options;
		this.#backoff = new Backoff({ delayMsMin: DELAY_MS_MIN, delayMsMax: DELAY_MS_MAX, ...(random && { random }) });
	}

	/** Begins to ask; once. */
	start(): void {
		if (this.#state !== 'idle') return;
		this.#state = 'asking';
		this.#ask();
	}

	/** Ends it, whatever is known by then. */
	stop(): void {
		this.#state = 'ended';
		this.#options.clock.clearTimeout(this.#timer);
		for (const end of [...this.#waiting]) end();
	}

	/** Resolves when it is known what there is, at once if nobody asks, or at the abort. */
	settled(signal: AbortSignal | undefined): Promise<void> {
		if (this.#state !== 'asking' || signal?.aborted) return Promise.resolve();
		return new Promise((resolve) => {
			const end = (): void => {
				this.#waiting.delete(end);
				signal?.removeEventListener('abort', end);
				resolve();
			};
			this.#waiting.add(end);
			signal?.addEventListener('abort', end, { once: true });
		});
	}

	#ask(): void {
		const { clock, find, found, failed } = this.#options;
		find().then(
			(instances) => {
				if (this.#state !== 'asking') return;
				found(instances);
				this.stop();
			},
			(reason: unknown) => {
				if (this.#state !== 'asking') return;
				failed(SpockError.from(reason));
				this.#timer = clock.setTimeout(() => this.#ask(), this.#backoff.next());
				this.#timer.unref?.();
			},
		);
	}
}
