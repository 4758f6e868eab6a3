import type { BackendStatus, SnapshotSource } from '@spock/protocol';

import type { LifecycleState } from './lifecycle-machine.ts';

/** One condition of being ready, as `/readyz` shows it. */
export interface ReadyCheck {
	/** `phase`: the process takes work. `registry`: there are answers to give. */
	readonly name: 'phase' | 'registry';
	readonly ok: boolean;
	/** Why it is not; or, if it is, why it is less than it should be; else null. */
	readonly reason: string | null;
	/** Since when `ok` is what it is, in milliseconds since 1970. */
	readonly since: number;
}

/** Whether lookups should be sent to a sidecar, and why not; or why only what was last known can be told. */
export interface Readiness {
	readonly ready: boolean;
	readonly reasons: readonly string[];
	readonly checks: readonly ReadyCheck[];
}

/** What readiness is decided by. */
export interface ReadyFacts {
	readonly state: LifecycleState;
	/** Whether the registry has answered, or only what an earlier process kept is served; undefined before both. */
	readonly answered: SnapshotSource | undefined;
	readonly backend: BackendStatus;
}

type Verdict = Pick<ReadyCheck, 'name' | 'ok' | 'reason'>;

/** Remembers since when each check is as it is: it is to be looked at whenever one may have changed. */
export class ReadyChecks {
	readonly #wallNow: () => number;
	#checks: readonly ReadyCheck[] = [];

	constructor(wallNow: () => number) {
		this.#wallNow = wallNow;
	}

	look(facts: ReadyFacts): Readiness {
		const at = this.#wallNow();
		this.#checks = [phaseOf(facts), registryOf(facts)].map((verdict, index) => {
			const before = this.#checks[index];
			return { ...verdict, since: before?.ok === verdict.ok ? before.since : at };
		});
		const checks = this.#checks;
		return {
			ready: checks.every(({ ok }) => ok),
			reasons: checks.flatMap(({ reason }) => reason ?? []),
			checks,
		};
	}
}

function phaseOf({ state }: ReadyFacts): Verdict {
	const ok = state === 'serving';
	const reason = ok ? null : state === 'starting' ? 'still starting' : `shutting down: ${state}`;
	return { name: 'phase', ok, reason };
}

/** Once the registry has answered, its last known answers are served: only the first one is waited for. */
function registryOf({ answered, backend: { name, error } }: ReadyFacts): Verdict {
	const why = `the backend ${name} has not answered yet${error === null ? '' : `: ${error}`}`;
	if (answered === undefined) return { name: 'registry', ok: false, reason: why };
	// What an earlier process kept is served: lookups are as good as during any other outage, and the reason is shown.
	const reason = answered === 'last-known-good' ? `${why}; what was last known is served` : null;
	return { name: 'registry', ok: true, reason };
}
