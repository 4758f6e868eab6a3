import { type BackendStatus, type SnapshotSource, SpockError } from '@spock/protocol';
import { Backoff, type Clock, type Random, type TimerHandle } from '@spock/protocol/internal';

import type { ReadyCheck, ReadyState } from '../foundation/observer.ts';
import type { SidecarSource } from '../foundation/sidecar-source.ts';
import type { LifecycleState } from './lifecycle-machine.ts';

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

	/** In this state of the life cycle: whether it is ready, and why not; or why only the last known answers can be served. */
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

/** What readiness is decided by. */
export interface ReadyFacts {
	readonly state: LifecycleState;
	/** Whether the registry has answered, or only what an earlier process kept is served; undefined before both. */
	readonly answered: SnapshotSource | undefined;
	/** Why the registry was not heard when it was asked last; undefined if it was, or was not asked. */
	readonly error?: string | undefined;
	readonly backend: BackendStatus;
	/** Why nobody new can come by a path; null, or left out, while anybody can. */
	readonly place?: string | null;
}

type CheckName = ReadyCheck['name'];

/** Remembers since when each check is as it is: it is to be told whenever one may have changed. */
export class ReadyChecks {
	readonly #wallNow: () => number;
	readonly #since = new Map<CheckName, Pick<ReadyCheck, 'ok' | 'since'>>();

	constructor(wallNow: () => number) {
		this.#wallNow = wallNow;
	}

	/** What they follow from may have changed. */
	note({ state, answered }: Pick<ReadyFacts, 'state' | 'answered'>): void {
		this.#noteOne('phase', state === 'serving');
		// Once the registry has answered, its last known answers are served: only the first one is waited for.
		this.#noteOne('registry', answered !== undefined);
	}

	look(facts: ReadyFacts): ReadyState {
		this.note(facts);
		const { place = null } = facts;
		if (place !== null || this.#since.has('socket')) this.#noteOne('socket', place === null);
		const reasons = { phase: phaseOf(facts), registry: registryOf(facts), socket: place };
		const checks = [...this.#since].map(([name, { ok, since }]) => ({ name, ok, reason: reasons[name], since }));
		return {
			ready: checks.every(({ ok }) => ok),
			reasons: checks.flatMap(({ reason }) => reason ?? []),
			checks,
		};
	}

	#noteOne(name: CheckName, ok: boolean): void {
		if (this.#since.get(name)?.ok !== ok) this.#since.set(name, { ok, since: this.#wallNow() });
	}
}

function phaseOf({ state }: ReadyFacts): string | null {
	if (state === 'serving') return null;
	return state === 'starting' ? 'still starting' : `shutting down: ${state}`;
}

function registryOf({ answered, error: asked, backend: { name, error: told } }: ReadyFacts): string | null {
	const error = told ?? asked ?? null;
	const why = `the backend ${name} has not answered yet${error === null ? '' : `: ${error}`}`;
	if (answered === undefined) return why;
	// What an earlier process kept is served: lookups are as good as during any other outage, and the reason is shown.
	return answered === 'last-known-good' ? `${why}; the last known answers are served` : null;
}
