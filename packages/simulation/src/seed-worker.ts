import { parentPort, workerData } from 'node:worker_threads';

import { runSeed } from './run-seed.ts';

/** What a worker is given; then one seed after the other, each when the one before has ended. */
export interface SeedWork {
	readonly keepsTrace: boolean;
}

const { keepsTrace } = workerData as SeedWork;

// The calls of a storm fail by the thousand, and nobody reads where: a failing seed is run again with its trace.
if (!keepsTrace) Error.stackTraceLimit = 0;

parentPort?.on('message', (seed: number) => {
	void runSeed(seed, { keepsTrace }).then((result) => parentPort?.postMessage(result));
});
