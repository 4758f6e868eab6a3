import { SpockError } from '@spock/protocol';
import { Backoff, type Clock, offAbort, onAbort, type Random, type TimerHandle } from '@spock/protocol/internal';

import type { OwnedInstance } from '../foundation/registrar.ts';

/** Delays between attempts to find earlier registrations at the registry. */
const DELAY_MS_MIN = 250;
const DELAY_MS_MAX = 5000;

/** What an {@link Adoption} acts on. */
export interface AdoptionOptions {
	readonly clock: Clock;
	readonly random?: Random;
	readonly find: () => Promise<readonly OwnedInstance[]>;
	/** When to ask once more after the first answer, because the previous sidecar may have registered instances until its end. */
	readonly againAfterMs: number;
	/** Called with each of the two answers. */
	readonly found: (instances: readonly OwnedInstance[]) => void;
	/** Called for every failed attempt before the first answer, and whether it was the first; the next one follows by itself. */
	readonly failed: (error: SpockError, isFirst: boolean) => void;
}

/** Asks the registry for the registrations from before a restart, until it answers, and once more later. */
export class Adoption {
	readonly #options: AdoptionOptions;
	readonly #backoff: Backoff;
	readonly #waiting = new Set<() => void>();
	/** The outcome of the query in flight, or of the next one. */
	#next: { readonly promise: Promise<void>; resolve(): void; reject(error: SpockError): void } | undefined;
	#state: 'idle' | 'asking' | 'known' | 'ended' = 'idle';
	#timer: TimerHandle | undefined;
	#hasFailed = false;

	constructor(options: AdoptionOptions) {
		const { random } = options;
		this.#options = options;
		this.#backoff = new Backoff({ delayMsMin: DELAY_MS_MIN, delayMsMax: DELAY_MS_MAX, ...(random && { random }) });
	}

	/** Idempotent. */
	start(): void {
		if (this.#state !== 'idle') return;
		this.#state = 'asking';
		this.#ask();
	}

	/** Stops asking, whatever is known by then. */
	stop(): void {
		this.#state = 'ended';
		this.#options.clock.clearTimeout(this.#timer);
		this.#tellKnown();
	}

	#tellKnown(): void {
		for (const end of [...this.#waiting]) end();
		this.#next?.resolve();
		this.#next = undefined;
	}

	/**
	 * Undefined once the earlier registrations are known, or if they are not asked for. Until then resolves when they are known, and
	 * rejects with the next failure.
	 */
	next(): Promise<void> | undefined {
		if (this.#state !== 'asking') return undefined;
		this.#next ??= deferred();
		return this.#next.promise;
	}

	/** Resolves when the earlier registrations are known, at once if they are not asked for, or at the abort. */
	settled(signal: AbortSignal | undefined): Promise<void> {
		if (this.#state !== 'asking' || signal?.aborted) return Promise.resolve();
		return new Promise((resolve) => {
			const end = (): void => {
				this.#waiting.delete(end);
				offAbort(signal, end);
				resolve();
			};
			this.#waiting.add(end);
			if (signal !== undefined) onAbort(signal, end);
		});
	}

	#ask(): void {
		const { find, found, againAfterMs } = this.#options;
		// An error of `found` is a failure too: a third-party registrar may return something other than instances.
		find()
			.then((instances) => {
				if (this.#state === 'ended') return;
				found(instances);
				if (this.#state !== 'asking') return this.stop();
				this.#state = 'known';
				this.#tellKnown();
				this.#askIn(againAfterMs);
			})
			.catch((reason: unknown) => {
				if (this.#state === 'asking') this.#failed(SpockError.from(reason));
				if (this.#state !== 'ended') this.#askIn(this.#backoff.next());
			});
	}

	#failed(error: SpockError): void {
		this.#options.failed(error, !this.#hasFailed);
		this.#next?.reject(error);
		this.#next = undefined;
		this.#hasFailed = true;
	}

	#askIn(delayMs: number): void {
		this.#timer = this.#options.clock.setTimeout(() => this.#ask(), delayMs);
		this.#timer.unref?.();
	}
}

function deferred(): { readonly promise: Promise<void>; resolve(): void; reject(error: SpockError): void } {
	let resolve = (): void => undefined;
	let reject = (_error: SpockError): void => undefined;
	const promise = new Promise<void>((resolved, rejected) => {
		resolve = resolved;
		reject = rejected;
	});
	// The caller may have gone.
	promise.catch(() => undefined);
	return { promise, resolve, reject };
}
