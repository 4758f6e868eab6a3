import type { ResultOrigin } from '../result-file.ts';
import type { ClientReport, WayName } from './rolling-messages.ts';
import type { RestartOrder } from './service-group.ts';

/** What `npm run bench rolling` found: the only thing that docs/integrations/rolling-restart.md is made from. */
export interface RollingResults extends ResultOrigin {
	readonly versions: Readonly<Record<string, string>>;
	readonly scenarios: readonly ScenarioResult[];
}

/** One rolling restart, and what the clients are. */
export interface Scenario {
	readonly order: RestartOrder;
	readonly instances: number;
	/** How often all instances were replaced. */
	readonly restarts: number;
	/** How long an instance goes on serving after it has left the registry, in milliseconds. */
	readonly preStopMs: number;
	/** How long a request takes an instance, in milliseconds. */
	readonly workMs: number;
	/** Between the end of an old instance and the start of the next new one, in milliseconds. */
	readonly pauseMs: number;
	/** Requests a second of each client. */
	readonly rate: number;
	readonly dnsTtlMs: number;
}

export interface ScenarioResult extends Scenario {
	/** How long the clients made requests. */
	readonly seconds: number;
	readonly ways: readonly WayResult[];
}

export interface WayResult extends Omit<ClientReport, 'answered'> {
	readonly way: WayName;
	/** Share of the answered requests that each place of the group had, over all its instances, from 0 to 1. */
	readonly shares: readonly number[];
	/** How many instances answered; each place has one more than it was restarted. */
	readonly instancesSeen: number;
}

/** How many requests failed. */
export function failed({ failures }: WayResult): number {
	return Object.values(failures).reduce((sum, count) => sum + count, 0);
}
