// Before the product: what that takes while it is loaded is to be seen.
import './forbidden.ts';

import { parentPort, workerData } from 'node:worker_threads';

import type { Plant } from './plants.ts';
import { runSeed } from './run-seed.ts';

/** What a worker is given; then one seed after the other, each when the one before has ended. */
export interface SeedWork {
	readonly keepsTrace: boolean;
	readonly plant?: Plant | undefined;
}

const { keepsTrace, plant } = workerData as SeedWork;

// The calls of a storm fail by the thousand, and nobody reads where: a failing seed is run again with its trace.
if (!keepsTrace) Error.stackTraceLimit = 0;

parentPort?.on('message', (seed: number) => {
	void runSeed(seed, { keepsTrace, plant }).then((result) => parentPort?.postMessage(result));
});
