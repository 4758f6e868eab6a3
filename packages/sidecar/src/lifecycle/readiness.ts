import { type BackendStatus, type SnapshotSource, SpockError } from '@spock/protocol';
import { Backoff, type Clock, type Random, type TimerHandle } from '@spock/protocol/internal';

import { registryTrouble } from '../foundation/address-trouble.ts';
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
	/** Why no client can connect by a path; null while all paths work. */
	readonly place: () => string | null;
	/** Called when readiness may have changed; see {@link ReadyState}. */
	readonly changed: () => void;
}

/** Whether lookups should be sent to a sidecar: queries the registry until it answers once. */
export class Readiness {
	readonly #source: SidecarSource;
	readonly #clock: Clock;
	readonly #place: () => string | null;
	readonly #backoff: Backoff;
	readonly #changed: () => void;
	/** Whether the registry has answered, or only stored answers are served; undefined before both. */
	#answered: SnapshotSource | undefined;
	/** Why the registry did not answer the last query. */
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

	/** Takes over the source of answers that were requested already; undefined if none came. */
	answered(from: SnapshotSource | undefined): void {
		this.#answered = from;
		this.note(this.#state);
		this.#changed();
	}

	/** Queries the registry until it answers. */
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
				// A refusal is not a failure of the registry, and not in its status.
				this.#error = SpockError.from(error).message;
				this.#changed();
				this.#probeAgain();
			},
		);
	}

	/** Stops querying. */
	stop(): void {
		this.#isStopped = true;
		this.#clock.clearTimeout(this.#timer);
	}

	/** The life cycle has reached this state: its readiness counts from here. */
	note(state: LifecycleState): void {
		this.#state = state;
		// Without the backend's status, which is third-party code.
		this.#checks.note({ state, answered: this.#answered });
	}

	/** Readiness in this state of the life cycle, and why not; or why only the last known answers can be served. */
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

/** What decides readiness. */
export interface ReadyFacts {
	readonly state: LifecycleState;
	/** Whether the registry has answered, or only what an earlier process kept is served; undefined before both. */
	readonly answered: SnapshotSource | undefined;
	/** Why the registry did not answer the last query; undefined if it did, or without a query. */
	readonly error?: string | undefined;
	readonly backend: BackendStatus;
	/** Why no client can connect by a path; null, or left out, while all paths work. */
	readonly place?: string | null;
}

type CheckName = ReadyCheck['name'];

/** Remembers since when each check has its state: it must be updated whenever one may have changed. */
export class ReadyChecks {
	readonly #wallNow: () => number;
	readonly #since = new Map<CheckName, Pick<ReadyCheck, 'ok' | 'since'>>();

	constructor(wallNow: () => number) {
		this.#wallNow = wallNow;
	}

	/** Updates the checks. */
	note({ state, answered }: Pick<ReadyFacts, 'state' | 'answered'>): void {
		this.#noteOne('phase', state === 'serving');
		// Once the registry has answered, its last known answers are served: wait only for the first one.
		this.#noteOne('registry', answered !== undefined);
	}

	look(facts: ReadyFacts): ReadyState {
		this.note(facts);
		const { place = null } = facts;
		if (place !== null || this.#since.has('socket')) this.#noteOne('socket', place === null);
		const reasons = { phase: phaseOf(facts), registry: registryOf(facts), socket: place };
		const checks = [...this.#since].map(([name, { ok, since }]) => ({ name, ok, reason: reasons[name], since }));
		const ready = checks.every(({ ok }) => ok);
		return {
			ready,
			reasons: checks.flatMap(({ ok, reason }) => (ready || !ok ? (reason ?? []) : [])),
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

function registryOf({ answered, error: asked, backend }: ReadyFacts): string | null {
	const { name, error: told, lastSuccessAgeMs } = backend;
	const error = told ?? asked ?? null;
	// It may have answered with a refusal.
	const what = lastSuccessAgeMs === null ? 'has not answered yet' : 'cannot be read yet';
	const why = `the backend ${name} ${what}${error === null ? '' : `: ${error}`}`;
	if (answered === undefined) return why;
	// Stored answers of an earlier process are served: as good as during any other outage, and the reason is shown.
	return answered === 'last-known-good' ? `${why}; the last known answers are served` : registryTrouble(backend);
}
