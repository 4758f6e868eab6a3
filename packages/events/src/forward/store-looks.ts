import type { Clock, TimerHandle } from '@spock/protocol/internal';

import type { Forwarder } from './forwarder.ts';

const LOOK_MS = 60_000;
/** Questions to stores at a time: each may be a connection of its own. */
const LOOKS_MAX = 16;

/** Asks each minute of each stream whether its store still has what it has acknowledged. */
export class StoreLooks {
	readonly #clock: Clock;
	readonly #forwarders: () => Iterable<Forwarder>;
	readonly #looked: () => void;
	#timer: TimerHandle | undefined;

	/** `looked`: all were asked. */
	constructor(clock: Clock, forwarders: () => Iterable<Forwarder>, looked: () => void) {
		this.#clock = clock;
		this.#forwarders = forwarders;
		this.#looked = looked;
	}

	start(): void {
		this.#timer = this.#clock.setTimeout(() => {
			this.start();
			void this.#look();
		}, LOOK_MS);
		this.#timer.unref?.();
	}

	stop(): void {
		this.#clock.clearTimeout(this.#timer);
	}

	/** None throws. One whose store has not answered the time before is not asked again, so that it keeps no others from it. */
	async #look(): Promise<void> {
		const left = [...this.#forwarders()].values();
		const askSome = async (): Promise<void> => {
			for (const forwarder of left) await forwarder.look();
		};
		await Promise.all(Array.from({ length: LOOKS_MAX }, askSome));
		this.#looked();
	}
}
