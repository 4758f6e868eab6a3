import type { ResultOrigin } from './result-file.ts';

/** What a run of the bench found: the only thing that docs/PERFORMANCE.md and its plots are made from. */
export interface BenchResults {
	/** Version of this shape. */
	readonly schema: 1;
	/** When the run ended, ISO 8601. */
	readonly takenAt: string;
	readonly quick: boolean;
	readonly commit: string;
	readonly machine: {
		readonly processor: string;
		readonly cores: number;
		readonly memoryMb: number;
		readonly kernel: string;
	};
	/** The Node that the contenders ran on, where nothing else is said. */
	readonly node: string;
	/** Versions of the other software of the run, by name. */
	readonly versions: Readonly<Record<string, string>>;
	/** What could not be run here, and why. Empty on a complete run. */
	readonly leftOut: readonly { readonly what: string; readonly why: string }[];
	readonly calls: readonly CallFigure[];
	/** A few load shapes again, on each supported major version of Node, in one run. */
	readonly nodeVersions: readonly (CallFigure & { readonly node: string })[];
	/** The sidecar's gRPC front beside its own protocol; left out by runs before there was one. */
	readonly grpcFront?: readonly CallFigure[];
	readonly connections: readonly ConnectionsFigure[];
	readonly inFlight: readonly InFlightFigure[];
	readonly registry: readonly RegistryFigure[];
	readonly watchers: readonly WatchersFigure[];
	readonly connectPerCall: readonly ConnectPerCallFigure[];
	/** Lookups within the process, by what the caller writes. */
	readonly lookups: readonly { readonly what: string; readonly ns: number }[];
	/** Events; left out by runs before there were any. */
	readonly events?: readonly EventsFigure[];
	readonly startUp: readonly { readonly what: string; readonly wallMs: number; readonly cpuMs: number }[];
	readonly bundle: {
		readonly minifiedBytes: number;
		readonly gzipBytes: number;
		readonly thirdPartyDependencies: number;
	} | null;
	/** Micro benchmarks of single parts. `bytes` is what one operation allocates; null where it was not counted. */
	readonly micro: readonly { readonly what: string; readonly ns: number; readonly bytes: number | null }[];
}

/** What a run has measured before it begins. */
export const NO_FIGURES: Omit<BenchResults, keyof ResultOrigin | 'versions' | 'leftOut' | 'grpcFront' | 'events'> = {
	calls: [],
	nodeVersions: [],
	connections: [],
	inFlight: [],
	registry: [],
	watchers: [],
	connectPerCall: [],
	lookups: [],
	startUp: [],
	bundle: null,
	micro: [],
};

/** How calls are made. The order is that of the tables. */
export const SHAPES = {
	'one-core': 'one call at a time, both processes on one core',
	'two-cores': 'one call at a time, on two cores',
	scheduler: 'one call at a time, where the scheduler likes',
	'64-in-flight': '64 calls in flight',
	'1024-in-flight': '1024 calls in flight',
	'open-1000': '1,000 calls a second, open loop',
	'open-5000': '5,000 calls a second, open loop',
	'open-20000': '20,000 calls a second, open loop',
} as const;

/** A load shape. */
export type ShapeId = keyof typeof SHAPES;

/** Who was measured. */
export interface ContenderInfo {
	readonly id: string;
	/** For tables and plots. */
	readonly label: string;
}

/** One contender under one load shape. Each figure is the median over the rounds. */
export interface CallFigure {
	readonly contender: string;
	readonly label: string;
	readonly shape: ShapeId;
	/** True with a busy loop on each core beside it. */
	readonly busy: boolean;
	readonly rounds: number;
	/** Latency of a call as its caller sees it, in µs. In open loops from the moment it was due. */
	readonly p50Us: number;
	readonly p99Us: number;
	readonly p999Us: number;
	readonly callsPerSecond: number;
	/** Processor time of one call, all threads of both processes, in µs. */
	readonly cpuUs: number;
	readonly clientCpuUs: number;
	readonly serverCpuUs: number;
	readonly errors: number;
	/** Resident memory at the end of the last round, in MB. */
	readonly clientRssMb: number;
	readonly serverRssMb: number;
}

/** Many connections to one sidecar at the same total rate. */
export interface ConnectionsFigure {
	readonly connections: number;
	readonly callsPerSecond: number;
	readonly p50Us: number;
	readonly p99Us: number;
	readonly cpuUs: number;
	/** Memory above that of one connection, for each further one, in KB; null for one connection. */
	readonly sidecarKbEach: number | null;
	readonly clientKbEach: number | null;
}

/** Many calls in flight on one connection. */
export interface InFlightFigure {
	readonly inFlight: number;
	readonly callsPerSecond: number;
	readonly p50Us: number;
	readonly p99Us: number;
	readonly errors: number;
	/** Largest resident memory during the round, in MB. */
	readonly clientRssMb: number;
	readonly serverRssMb: number;
}

/** A registry of some size, everything in it subscribed to. */
export interface RegistryFigure {
	readonly services: number;
	readonly instancesEach: number;
	/** Resident memory of a sidecar that watches all of it, and of the same sidecar before, in MB. */
	readonly sidecarRssMb: number;
	readonly sidecarRssBeforeMb: number;
	readonly clientRssMb: number;
	/** Bytes of one push, and the processor time of the sidecar for it, in µs. */
	readonly pushBytes: number;
	readonly pushCpuUs: number;
}

/** From a change in Consul to the client, beside a bare blocking query that sees the same change. */
export interface WatchersFigure {
	readonly watchers: number;
	readonly changes: number;
	/** PUT sent -> bare blocking query returned, in ms. */
	readonly bareP50Ms: number;
	readonly bareP99Ms: number;
	/** PUT sent -> snapshot in the last watching client, in ms. */
	readonly lastP50Ms: number;
	readonly lastP99Ms: number;
	/** What the product adds to the bare query, change by change, in ms. */
	readonly addedP50Ms: number;
	readonly addedP99Ms: number;
}

/** A connection for each call, closed after it. */
export interface ConnectPerCallFigure {
	readonly contender: string;
	readonly label: string;
	readonly transport: 'unix' | 'tcp';
	readonly p50Us: number;
	readonly p99Us: number;
	readonly cpuUs: number;
}

/** One figure of events, and what the same run takes for its least: an echo, a bare write, the start of an empty log. */
export interface EventsFigure {
	readonly what: string;
	readonly unit: 'ns' | 'µs' | 'ms' | '/s' | 'B' | 'MB';
	readonly value: number;
	/** In the same unit; null where there is nothing to compare with. */
	readonly floor: number | null;
}
