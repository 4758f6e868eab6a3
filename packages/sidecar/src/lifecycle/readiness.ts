import { type SnapshotSource, SpockError } from '@spock/protocol';
import { Backoff, type Clock, type Random, type TimerHandle } from '@spock/protocol/internal';

import type { ReadyState } from '../foundation/observer.ts';
import type { SidecarSource } from '../foundation/sidecar-source.ts';
import type { LifecycleState } from './lifecycle-machine.ts';
import { ReadyChecks } from './ready-checks.ts';

const PROBE_DELAY_MS_MIN = 250;
const PROBE_DELAY_MS_MAX = 5000;

/** What a {@link Readiness} needs. */
export interface ReadinessOptions {
	readonly source: SidecarSource;
	readonly clock: Clock;
	readonly random: Random;
	/** Why nobody new can come by a path; null while anybody can. */
	readonly place: () => string | null;
	/** Told when it may have become another: {@link ReadyState} says how it is. */
	readonly changed: () => void;
}

/** Whether lookups should be sent to a sidecar: asks the registry for something until it answers once. */
export class Readiness {
	readonly #source: SidecarSource;
	readonly #clock: Clock;
	readonly #place: () => string | null;
	readonly #backoff: Backoff;
	readonly #changed: () => void;
	/** Whether the registry has answered, or only what an earlier process kept is served; undefined before both. */
	#answered: SnapshotSource | undefined;
	/** Why the registry was not heard when it was asked last. */
	#error: string | undefined;
	#timer: TimerHandle | undefined;
	#isStopped = false;
	readonly #checks: ReadyChecks;
	#state: LifecycleState = 'starting';

	constructor({ source, clock, random, place, changed }: ReadinessOptions) {
		this.#place = place;
		this.#changed = changed;
		this.#source = source;
		this.#clock = clock;
		this.#checks = new ReadyChecks(() => clock.wallNow());
		this.#backoff = new Backoff({ delayMsMin: PROBE_DELAY_MS_MIN, delayMsMax: PROBE_DELAY_MS_MAX, random });
	}

	/** Something was asked already, and this is where the answers came from; undefined if none came. */
	answered(from: SnapshotSource | undefined): void {
		this.#answered = from;
		this.note(this.#state);
		this.#changed();
	}

	/** Asks, and again until the registry answers. */
	probe(): void {
		const source = this.#source;
		const answered = source.probe === undefined ? source.list({}).then((list) => list.source) : source.probe();
		answered.then(
			(from) => {
				this.#error = undefined;
				this.answered(from);
				if (from === 'last-known-good') this.#probeAgain();
			},
			(error: unknown) => {
				// A refusal is no failure of the registry, and not in its status.
				this.#error = SpockError.from(error).message;
				this.#changed();
				this.#probeAgain();
			},
		);
	}

	/** Asks no more. */
	stop(): void {
		this.#isStopped = true;
		this.#clock.clearTimeout(this.#timer);
	}

	/** The life cycle has come to this state: since when it is ready, or not, is counted from here. */
	note(state: LifecycleState): void {
		this.#state = state;
		// Without the backend's status, which is somebody else's code.
		this.#checks.note({ state, answered: this.#answered });
	}

	/** In this state of the life cycle: whether it is ready, and why not; or why only what was last known can be told. */
	in(state: LifecycleState): ReadyState {
		const place = this.#place();
		const known = { answered: this.#answered, error: this.#error, backend: this.#source.status() };
		return this.#checks.look({ ...known, state, place });
	}

	#probeAgain(): void {
		if (this.#isStopped) return;
		this.#timer = this.#clock.setTimeout(() => this.probe(), this.#backoff.next());
		this.#timer.unref?.();
	}
}
