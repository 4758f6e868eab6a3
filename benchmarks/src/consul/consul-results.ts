import type { ResultOrigin } from '../result-file.ts';

/** What `npm run bench consul` found: the only thing that docs/performance/consul.md is made from. */
export interface ConsulResults extends ResultOrigin {
	readonly consul: string;
	readonly changes: readonly ChangeFigure[];
	readonly cost: readonly CostFigure[];
	/** Taken by itself as well: when, and on what. */
	readonly scale?: ScaleResults;
}

/** Few and many services, while others change all the time. */
export interface ScaleResults extends ResultOrigin {
	/** The load of the machine before it began, in processes that run or want to. */
	readonly load: number;
	readonly figures: readonly ScaleFigure[];
}

/** One number of services. */
export interface ScaleFigure {
	readonly watched: number;
	/** What the sidecar may hold queries for. */
	readonly heldMax: number;
	/** PUT sent -> the snapshot is in the client; services take turns. */
	readonly spock: Delays;
	/** PUT sent -> the answer to a bare blocking query is parsed. */
	readonly bare: Delays;
	/** Between the sidecar and Consul, while nothing changes but foreign services, twice a second. */
	readonly traffic: Traffic;
}

/** From a change in Consul to the client, beside a bare blocking query: changes take turns between the two. */
export interface ChangeFigure {
	/** Services that the sidecar watches; as many again are watched by bare queries. */
	readonly watched: number;
	/** How long after the one before a change is made, in ms. */
	readonly gapMs: number;
	/** PUT sent -> the snapshot is in the client. */
	readonly spock: Delays;
	/** PUT sent -> the answer to a bare blocking query is parsed. */
	readonly bare: Delays;
}

/** Delays of a number of changes, in ms. */
export interface Delays {
	readonly changes: number;
	/** Changes that were not seen within ten seconds of the last one. */
	readonly unseen: number;
	readonly p50Ms: number;
	readonly p99Ms: number;
	readonly maxMs: number;
}

/** Who asks Consul. */
export type CostContender = 'spock' | 'polling';

/** What a pod costs Consul. */
export interface CostFigure {
	readonly contender: CostContender;
	/** Services that the pod watches. */
	readonly watched: number;
	readonly atRest: Traffic;
	/** While one of them changes every second, in turn. */
	readonly underChange: Traffic;
}

/** What was counted between a pod and Consul. */
export interface Traffic {
	/** How long was counted, in seconds. */
	readonly seconds: number;
	/** Most connections at the same time. */
	readonly connections: number;
	readonly queriesAMinute: number;
	/** Both ways, headers included. */
	readonly kilobytesAMinute: number;
}
