/** What examples/employer-employee/load.js writes, and where it was taken. */
export interface GrpcLoadResults {
	readonly takenAt: string;
	readonly machine: { readonly processor: string; readonly cores: number };
	readonly node: string;
	readonly settings: {
		readonly requests: number;
		readonly inFlight: number;
		/** How long an employee works at one task, in ms. */
		readonly workMs: number;
		/** How long the registry took to notice that one was killed, in ms. */
		readonly noticeMs: number;
		readonly employees: number;
	};
	readonly ways: readonly WayResult[];
}

/** A way to call the employees. */
export type WayName = 'single' | 'per-request' | 'pool' | 'resolver';

/** The figures of one way. */
export interface WayResult {
	readonly way: WayName;
	readonly requests: number;
	readonly failed: number;
	readonly requestsPerSecond: number;
	/** Of all requests, by instance: 0 to 1. */
	readonly shares: readonly number[];
	/** By name: `p10` to `p99`. */
	readonly latencyMs: Readonly<Record<string, number>>;
	readonly change: {
		readonly requests: number;
		readonly failed: number;
		/** Since the registry was told; null: never. */
		readonly evenAfterMs: number | null;
	};
}
