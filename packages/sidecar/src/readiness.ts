import type { SnapshotSource } from '@spock/protocol';
import { Backoff, type Clock, type Random, type TimerHandle } from '@spock/protocol/internal';

import type { LifecycleState } from './lifecycle-machine.ts';
import type { SidecarSource } from './sidecar-options.ts';

const PROBE_DELAY_MS_MIN = 250;
const PROBE_DELAY_MS_MAX = 5000;

/** What a {@link Readiness} needs. */
export interface ReadinessOptions {
	readonly source: SidecarSource;
	readonly clock: Clock;
	readonly random: Random;
}

/** Whether lookups should be sent to a sidecar: asks the registry for something until it answers once. */
export class Readiness {
	readonly #source: SidecarSource;
	readonly #clock: Clock;
	readonly #backoff: Backoff;
	/** Whether the registry has answered, or only what an earlier process kept is served; undefined before both. */
	#answered: SnapshotSource | undefined;
	#timer: TimerHandle | undefined;
	#isStopped = false;

	constructor({ source, clock, random }: ReadinessOptions) {
		this.#source = source;
		this.#clock = clock;
		this.#backoff = new Backoff({ delayMsMin: PROBE_DELAY_MS_MIN, delayMsMax: PROBE_DELAY_MS_MAX, random });
	}

	/** Something was asked already, and this is where the answers came from; undefined if none came. */
	answered(from: SnapshotSource | undefined): void {
		this.#answered = from;
	}

	/** Asks, and again until the registry answers. */
	probe(): void {
		const source = this.#source;
		const answered = source.probe === undefined ? source.list({}).then((list) => list.source) : source.probe();
		answered.then(
			(from) => {
				this.#answered = from;
				if (from === 'last-known-good') this.#probeAgain();
			},
			// The reason is in the backend's status, which readiness shows.
			() => this.#probeAgain(),
		);
	}

	/** Asks no more. */
	stop(): void {
		this.#isStopped = true;
		this.#clock.clearTimeout(this.#timer);
	}

	/** In this state of the life cycle: whether it is ready, and why not; or why only what was last known can be told. */
	in(state: LifecycleState): { ready: boolean; reasons: string[] } {
		const reasons: string[] = [];
		if (state !== 'serving') reasons.push(state === 'starting' ? 'still starting' : `shutting down: ${state}`);
		// Once the registry has answered, its last known answers are served: only the first one is waited for.
		const { name, error } = this.#source.status();
		const why = `the backend ${name} has not answered yet${error === null ? '' : `: ${error}`}`;
		if (this.#answered === undefined) reasons.push(why);
		if (reasons.length > 0) return { ready: false, reasons };
		// What an earlier process kept is served: lookups are as good as during any other outage, and the reason is shown.
		return {
			ready: true,
			reasons: this.#answered === 'last-known-good' ? [`${why}; what was last known is served`] : [],
		};
	}

	#probeAgain(): void {
		if (this.#isStopped) return;
		this.#timer = this.#clock.setTimeout(() => this.probe(), this.#backoff.next());
		this.#timer.unref?.();
	}
}
