import { parentPort, workerData } from 'node:worker_threads';

import { runSeed } from './run-seed.ts';

/** What a worker is given. */
export interface SeedWork {
	readonly seeds: readonly number[];
	readonly keepsTrace: boolean;
}

const { seeds, keepsTrace } = workerData as SeedWork;
for (const seed of seeds) parentPort?.postMessage(await runSeed(seed, { keepsTrace }));
