import type { BackendStatus, SnapshotSource } from '@spock/protocol';

import type { ReadyCheck, ReadyState } from '../foundation/observer.ts';
import type { LifecycleState } from './lifecycle-machine.ts';

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
	return answered === 'last-known-good' ? `${why}; what was last known is served` : null;
}
