import type { ServiceSnapshot } from './snapshot.ts';

/** The state of one query at a source. `held`: the registry reports that nothing is left, which is not believed yet. */
export type QuestionState = 'cold' | 'fresh' | 'held' | 'stale';

/** One check of an instance. Its output is left out, because it may be long and contain secrets. */
export interface CheckStatus {
	readonly id: string;
	readonly name: string;
	/** `passing`, `warning`, `critical`, or another status of the registry. */
	readonly status: string;
}

/** An empty answer that is held back, in milliseconds since it arrived and until it is believed. */
export interface HoldStatus {
	readonly forMs: number;
	readonly endsInMs: number;
}

/** Facts about one instance that are not in the snapshot. */
export interface InstanceFacts {
	/** When it last changed or was first seen, as this process saw it, in milliseconds since 1970; null if unknown. */
	readonly changedAt: number | null;
	/** At most 64, the worst first. Empty if the registry has or returns none. */
	readonly checks: readonly CheckStatus[];
}

/** An entry of the registry that is left out, because no client could be sent to it. */
export interface RefusedInstance {
	/** Its name; empty if that is missing or not a string. */
	readonly instance: string;
	/** The fault, as a sentence without its subject and full stop. */
	readonly reason: string;
}

/** Everything that a source knows of one query beyond its snapshot. */
export interface Inspection {
	/** The served snapshot; undefined if there is nothing to serve. */
	readonly snapshot: ServiceSnapshot | undefined;
	readonly state: QuestionState;
	/** Why the watch fails, or why nothing can be served; else null. */
	readonly error: string | null;
	readonly held: HoldStatus | null;
	/** When instances or source last changed, in milliseconds since 1970; null before the first answer. */
	readonly changedAt: number | null;
	/** Watches of this query at this source. */
	readonly readers: number;
	/** By the name of the instance. */
	readonly instances: ReadonlyMap<string, InstanceFacts>;
	/** Invalid entries of the registry's last answer that were left out, at most 64. Default: none. */
	readonly refused?: readonly RefusedInstance[];
	/** How many entries were left out. Default: as many as in `refused`. */
	readonly refusedCount?: number;
}
