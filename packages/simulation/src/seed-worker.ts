import { parentPort, workerData } from 'node:worker_threads';

import { runSeed } from './run-seed.ts';

/** What a worker is given. */
export interface SeedWork {
	readonly seeds: readonly number[];
	readonly keepsTrace: boolean;
}

// The calls of a storm fail by the thousand, and nobody reads where: a failing seed is run again with its trace.
if (!(workerData as SeedWork).keepsTrace) Error.stackTraceLimit = 0;

const { seeds, keepsTrace } = workerData as SeedWork;
for (const seed of seeds) parentPort?.postMessage(await runSeed(seed, { keepsTrace }));
