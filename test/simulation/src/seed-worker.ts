// Before the product: what that takes while it is loaded is to be seen.
import './forbidden.ts';

import { parentPort, workerData } from 'node:worker_threads';

import type { Injection } from './injection.ts';
import { plantOf } from './plants.ts';
import { runSeed } from './run-seed.ts';

/** What a worker is given. */
export interface SeedWork {
	readonly keepsTrace: boolean;
}

/** What it is sent, one after the other, each when the one before has ended. */
export interface SeedRun {
	readonly seed: number;
	/** The name of what goes wrong on purpose; undefined for nothing. */
	readonly plant?: string | undefined;
	/** True for a world that has events, and nothing else. */
	readonly isOfEvents?: boolean | undefined;
	/** True for a world of pods that ask a shared sidecar, and nothing else. */
	readonly isOfPods?: boolean | undefined;
	/** True for a world of pods that register at servers, and nothing else. */
	readonly isOfServers?: boolean | undefined;
}

const { keepsTrace } = workerData as SeedWork;

// The calls of a storm fail by the thousand, and nobody reads where: a failing seed is run again with its trace.
if (!keepsTrace) Error.stackTraceLimit = 0;

parentPort?.on('message', ({ seed, plant, isOfEvents, isOfPods, isOfServers }: SeedRun) => {
	const planted = plant === undefined ? {} : plantOf(plant).injection;
	const injection: Injection = {
		...planted,
		...(isOfEvents === true && { hasEvents: 'only' }),
		...(isOfPods === true && { hasPods: 'only' }),
		...(isOfServers === true && { hasServers: 'only' }),
	};
	void runSeed(seed, { keepsTrace, injection }).then((result) => parentPort?.postMessage(result));
});
