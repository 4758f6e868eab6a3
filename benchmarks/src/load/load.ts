/** What a load generator is told to do: one line of JSON on its standard input. */
export type LoadCommand = ClosedLoad | OpenLoad;

interface LoadWindow {
	/** How long calls are counted, in milliseconds. */
	readonly durationMs: number;
	/** How long the same load runs before that. */
	readonly warmupMs: number;
	/** The latency of every n-th call is taken: clocks cost too much to read for each of a million calls a second. */
	readonly sampleEvery: number;
}

/** A number of calls in flight: the next one is made when one is answered. */
export interface ClosedLoad extends LoadWindow {
	readonly kind: 'closed';
	readonly inFlight: number;
}

/** Calls that are due at fixed times, answered or not. Latency counts from the time a call was due. */
export interface OpenLoad extends LoadWindow {
	readonly kind: 'open';
	/** Calls a second. */
	readonly rate: number;
}

/** What a load generator found: one line of JSON on its standard output. Processor times are totals of the window. */
export interface LoadReport {
	readonly calls: number;
	readonly errors: number;
	readonly elapsedMs: number;
	readonly p50Us: number;
	readonly p99Us: number;
	readonly p999Us: number;
	readonly maxUs: number;
	readonly clientCpuUs: number;
	readonly serverCpuUs: number;
}

/** What calls are made on. A peer has one of the two ways to call. */
export interface LoadTarget {
	/** A call as users write it: settled with the reply. */
	readonly call?: () => Promise<unknown>;
	/** A call without a promise, for those that measure the limit; `done` is called once. */
	readonly send?: (done: () => void) => void;
	readonly close: () => Promise<void> | void;
}
