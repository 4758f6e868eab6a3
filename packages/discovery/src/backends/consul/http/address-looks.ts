import type { Clock, Random, TimerHandle } from '@spock/protocol/internal';

/** When the addresses that are not asked are looked at first, and how often after that; up to twice as late, so that many sidecars do not in step. */
const FIRST_MS = 5000;
const LOOK_MS = 30_000;

/** What {@link AddressLooks} need. */
export interface AddressLooksOptions {
	readonly clock: Clock;
	/** Default `Math.random`. */
	readonly random: Random | undefined;
	/** Addresses that there are. */
	readonly count: number;
	/** The number of the address that is asked, which shows by that how it is. */
	readonly asked: () => number;
	/** One tiny request to an address; rejects by a deadline of its own. */
	readonly look: (number: number) => Promise<void>;
}

/** Looks at the addresses in reserve, so that one which is wrong or gone is known before it is needed. */
export class AddressLooks {
	readonly #options: AddressLooksOptions;
	#timer: TimerHandle | undefined;
	#isStopped = false;

	constructor(options: AddressLooksOptions) {
		this.#options = options;
	}

	/** Begins; idempotent. One address alone is not looked at. */
	start(): void {
		if (this.#timer === undefined && this.#options.count > 1) this.#arm(FIRST_MS);
	}

	/** Idempotent; nothing is asked after it. */
	stop(): void {
		this.#isStopped = true;
		this.#options.clock.clearTimeout(this.#timer);
	}

	#arm(delayMs: number): void {
		if (this.#isStopped) return;
		const { clock, random = Math.random } = this.#options;
		this.#timer = clock.setTimeout(() => void this.#look(), delayMs * (1 + random()));
		this.#timer.unref?.();
	}

	async #look(): Promise<void> {
		const { count, asked, look } = this.#options;
		const first = asked();
		// The first of all is looked at by `AddressChoice` while another is asked.
		const others = Array.from({ length: count }, (_, number) => number).filter((one) => one !== first && one > 0);
		// How each was is noted by the look itself.
		await Promise.allSettled(others.map((number) => look(number)));
		this.#arm(LOOK_MS);
	}
}
