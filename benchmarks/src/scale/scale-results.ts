import type { ChangeFigure } from '../consul/consul-results.ts';
import type { ResultOrigin } from '../result-file.ts';

/** The rows of the bench, each of which can be measured by itself. */
export const ROWS: Readonly<Record<RowName, string>> = {
	'held-queries': 'what many sidecars cost Consul, through node Spocks and without',
	'many-services': 'a change in Consul, while 1,000 services are watched',
	'second-hop': 'a change in Consul, behind two Spocks and behind one',
	'push-bytes': 'bytes pushed for one change in a large service',
	'push-cpu': 'processor time of a node Spock, many watchers of a large service',
	'large-service': '10,000 instances of one service',
	'pod-memory': 'memory for a pod without a sidecar of its own, at the node Spock',
	simulation: '10,000 pods on 200 nodes, simulated',
	picks: 'picks with zones and subsets',
	reconnects: 'a node Spock that restarts under 1,000 connections',
	ways: 'memory of each way to run it',
};

/** A row's name, as `--only` takes it. */
export type RowName = keyof ScaleFigures;

/** What each row found. */
export interface ScaleFigures {
	'held-queries': HeldFigure;
	'many-services': ChangeFigure;
	'second-hop': HopFigure;
	'push-bytes': PushBytesFigure;
	'push-cpu': PushCpuFigure;
	'large-service': LargeServiceFigure;
	'pod-memory': PodMemoryFigure;
	simulation: SimulationFigure;
	picks: PicksFigure;
	reconnects: ReconnectsFigure;
	ways: WaysFigure;
}

/** A row that was measured: what it found, when, and beside how much other work. */
export interface TakenRow<Figure> {
	readonly takenAt: string;
	readonly commit: string;
	readonly node: string;
	readonly quick: boolean;
	readonly seconds: number;
	/** Of the machine's processors, what processes that have nothing to do with the run used meanwhile: 0 to 1. */
	readonly othersShare: number;
	readonly figure: Figure;
}

/** What `npm run bench:scale` found: the only thing that docs/performance/scale.md is made from. */
export interface ScaleResults extends ResultOrigin {
	readonly consul: string;
	/** What was not measured is not there. */
	readonly rows: { readonly [Name in RowName]?: TakenRow<ScaleFigures[Name]> };
}

/** Sidecars that watch the same services: what Consul holds for them, and what they ask at rest. */
export interface HeldFigure {
	readonly sidecars: number;
	/** Of these, those that are a process each; the others share processes, each with its own sockets. */
	readonly ownProcesses: number;
	readonly nodes: number;
	readonly services: number;
	readonly through: ConsulLoad;
	readonly without: ConsulLoad;
}

/** Counted by proxies in front of Consul. */
export interface ConsulLoad {
	/** Blocking queries that wait at Consul: the median of looks, one a second. */
	readonly held: number;
	/** Queries that failed while it was counted. */
	readonly failed: number;
	readonly connections: number;
	readonly queriesAMinute: number;
	/** How long was counted, in seconds. */
	readonly seconds: number;
}

/** Changes seen by one app at both places; `added` is of each change. */
export interface HopFigure {
	readonly changes: number;
	readonly unseen: number;
	readonly oneP50Ms: number;
	readonly oneP99Ms: number;
	readonly twoP50Ms: number;
	readonly twoP99Ms: number;
	readonly addedP50Ms: number;
	readonly addedP99Ms: number;
}

/** Bytes from the sidecar to a client of this build. */
export interface PushBytesFigure {
	readonly instances: number;
	readonly changes: number;
	/** The first snapshot. */
	readonly wholeBytes: number;
	/** For each change, on average. */
	readonly changeBytes: number;
	/** What the client names in hello. */
	readonly features: readonly string[];
}

/** A node Spock under pushes. */
export interface PushCpuFigure {
	readonly instances: number;
	readonly watchers: number;
	readonly changesASecond: number;
	/** The registry is a real Consul, which a watch asks at most once a second. */
	readonly consul: PushLoad;
	/** The registry is a list in the sidecar's process: each change is a push. */
	readonly memory: PushLoad;
	/** The same with TLS, as the manifests have it; left out by runs before that was measured. */
	readonly tls?: PushLoad;
}

/** Processor time and traffic of one run. */
export interface PushLoad {
	readonly seconds: number;
	readonly changes: number;
	/** Per cent of one core. */
	readonly cpuPercent: number;
	/** To all watchers. */
	readonly megabytesASecond: number;
	/** Changes of which a client saw the end result within ten seconds of the last. */
	readonly isSeen: boolean;
	/** Watchers whose connection was closed, as too slow. */
	readonly closed: number;
	readonly rssMb: number;
}

/** One service with very many instances, in a client. */
export interface LargeServiceFigure {
	readonly instances: number;
	/** Instances that the client has; 0 if it has none. */
	readonly served: number;
	readonly isLive: boolean;
	readonly isOversize: boolean;
	/** Why it was not served; null if it was. */
	readonly error: string | null;
	readonly firstMs: number;
	/** Heap and buffers that the snapshot takes in the client, after a forced collection. */
	readonly clientHeapMb: number;
	/** Resident memory, by which the client grew until then. */
	readonly clientRssMb: number;
}

/** Growth of a node Spock for each further connection. */
export interface PodMemoryFigure {
	readonly services: number;
	readonly instancesEach: number;
	readonly pods: number;
	readonly socket: MemoryEach;
	readonly tls: MemoryEach;
}

/** After a forced collection, in KB. */
export interface MemoryEach {
	readonly rssKb: number;
	readonly heapKb: number;
}

/** What the simulation reports. */
export interface SimulationFigure {
	readonly nodes: number;
	readonly pods: number;
	/** True if each pod has a sidecar of its own between app and node Spock. */
	readonly hasSidecars: boolean;
	readonly views: number;
	/** From a change in the registry until this share of the views have it, in virtual milliseconds; null: never. */
	readonly agree50Ms: number | null;
	readonly agree99Ms: number | null;
	readonly agreeAllMs: number | null;
	/** Node Spocks that were killed, at the moment of another change. */
	readonly killed: number;
	readonly lookups: number;
	readonly failedLookups: number;
	/** The same of that change: the views of the killed ones wait until their Spock is there again. */
	readonly killed99Ms: number | null;
	readonly killedAllMs: number | null;
	readonly events: number;
	readonly wallSeconds: number;
	readonly memoryMb: number;
}

/** Time of a pick, to that of a plain one: the median of rounds that take turns. */
export interface PicksFigure {
	readonly instances: number;
	readonly rounds: number;
	readonly plainNs: number;
	readonly local: number;
	readonly spilled: number;
	readonly subset: number;
	readonly both: number;
}

/** A node Spock is killed and started again at once. */
export interface ReconnectsFigure {
	readonly connections: number;
	readonly services: number;
	readonly restarts: readonly RestartFigure[];
}

/** One restart. Times run from when the new process takes its first connection. */
export interface RestartFigure {
	/** From the kill until then. */
	readonly awayMs: number;
	readonly backMs: number;
	/** Processor time of the new process until every client is back, its start left out. */
	readonly cpuMs: number;
	readonly calls: number;
	readonly callP50Ms: number;
	readonly callP99Ms: number;
	/** Lookups that failed in the clients meanwhile. */
	readonly failedLookups: number;
}

/** Resident memory of what each way adds, in MB. Shared pages count in full for RSS, and by their share for PSS. */
export interface WaysFigure {
	readonly services: number;
	readonly instancesEach: number;
	readonly ownSidecar: ProcessMemory;
	readonly nodeSpock: ProcessMemory;
	readonly sidecarBehindNode: ProcessMemory;
	/** Of an app that has looked up all services, through a sidecar, and from Consul itself. */
	readonly appHeapMb: number;
	readonly directAppHeapMb: number;
	/** Calls of one app, one after the other: alone; while another app floods the same Spock; while it floods a sidecar of its own. */
	readonly alone: CallTimes;
	readonly beside: CallTimes;
	readonly apart: CallTimes;
}

/** How long calls took, in ms. */
export interface CallTimes {
	readonly p50Ms: number;
	readonly p99Ms: number;
}

/** Of one process, in MB. */
export interface ProcessMemory {
	readonly rssMb: number;
	readonly pssMb: number;
}
