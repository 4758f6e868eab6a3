import type { Clock, Random, TimerHandle } from '@spock/protocol/internal';

/** After a failover the first address is looked at this often, and up to twice as seldom, so that many sidecars do not in step. */
const LOOK_MS = 10_000;

/** What an {@link AddressChoice} needs. */
export interface AddressChoiceOptions {
	readonly clock: Clock;
	/** Default `Math.random`. */
	readonly random: Random | undefined;
	/** Addresses that there are. */
	readonly count: number;
	/** Resolves if the first address is well; rejects by a deadline of its own. */
	readonly look: () => Promise<void>;
}

/**
 * Which address is asked first: the first one, which is the cheap one (the node's own agent), until it fails; then the one
 * after it, and so on. Once the first is well again, it is the choice again; queries that others hold end there by themselves.
 */
export class AddressChoice {
	readonly #options: AddressChoiceOptions;
	#number = 0;
	#timer: TimerHandle | undefined;
	#isStopped = false;

	constructor(options: AddressChoiceOptions) {
		this.#options = options;
	}

	/** The number of the address to ask first. */
	get number(): number {
		return this.#number;
	}

	/** An address did not answer well. */
	failed(number: number): void {
		// Unless another call has moved on already: two failures at once must not lead back to the bad address.
		if (this.#number === number) this.#choose((number + 1) % this.#options.count);
	}

	/** Idempotent; nothing is asked after it. */
	stop(): void {
		this.#isStopped = true;
		this.#options.clock.clearTimeout(this.#timer);
	}

	#choose(number: number): void {
		const { clock } = this.#options;
		this.#number = number;
		if (number !== 0) {
			this.#arm();
			return;
		}
		clock.clearTimeout(this.#timer);
		this.#timer = undefined;
	}

	#arm(): void {
		const { clock, random = Math.random, look } = this.#options;
		if (this.#timer !== undefined || this.#isStopped) return;
		const timer = clock.setTimeout(
			() => {
				const isCurrent = (): boolean => this.#timer === timer && !this.#isStopped;
				look().then(
					() => {
						if (isCurrent()) this.#choose(0);
					},
					() => {
						if (!isCurrent()) return;
						this.#timer = undefined;
						this.#arm();
					},
				);
			},
			LOOK_MS * (1 + random()),
		);
		this.#timer = timer;
		this.#timer.unref?.();
	}
}
