import type { ServiceSnapshot } from './snapshot.ts';

/** How a source stands with one question. `held`: the registry says that there is nothing left, which is not believed yet. */
export type QuestionState = 'cold' | 'fresh' | 'held' | 'stale';

/** One check of an instance. What it printed is left out: that may be long and hold secrets. */
export interface CheckStatus {
	readonly id: string;
	readonly name: string;
	/** `passing`, `warning`, `critical`, or what else the registry says. */
	readonly status: string;
}

/** An empty answer that is held back, in milliseconds since it came and until it is believed. */
export interface HoldStatus {
	readonly forMs: number;
	readonly endsInMs: number;
}

/** What is known of one instance beyond its place in the snapshot. */
export interface InstanceFacts {
	/** When it last changed or was first seen, as this process saw it, in milliseconds since 1970; null when not known. */
	readonly changedAt: number | null;
	/** At most 64, the worst first. Empty where the registry has none or tells none. */
	readonly checks: readonly CheckStatus[];
}

/** An instance that the registry tells of and that is left out, because nobody could be sent to it. */
export interface RefusedInstance {
	/** Its name; empty where it has none that is a string. */
	readonly instance: string;
	/** What is wrong with it, as a sentence without its subject and full stop. */
	readonly reason: string;
}

/** What a source knows of one question beyond its snapshot. */
export interface Inspection {
	/** What is served; undefined when there is nothing to serve. */
	readonly snapshot: ServiceSnapshot | undefined;
	readonly state: QuestionState;
	/** Why the watch fails, or why there is nothing to serve; else null. */
	readonly error: string | null;
	readonly held: HoldStatus | null;
	/** When instances or source last changed, in milliseconds since 1970; null before the first answer. */
	readonly changedAt: number | null;
	/** Watches of this question at this source. */
	readonly readers: number;
	/** By the name of the instance. */
	readonly instances: ReadonlyMap<string, InstanceFacts>;
	/** Bad entries of the registry's last answer that were left out, at most 64. Default: none. */
	readonly refused?: readonly RefusedInstance[];
	/** How many there are. Default: as many as in `refused`. */
	readonly refusedCount?: number;
}
