import { Worker } from 'node:worker_threads';

import type { Plant } from './plants.ts';
import type { SeedResult } from './run-seed.ts';
import type { SeedWork } from './seed-worker.ts';

/** Options of {@link runSeeds}. */
export interface RunSeedsOptions {
	/** The program that `bundle` made. */
	readonly program: string;
	readonly jobs: number;
	readonly keepsTrace?: boolean;
	/** Something that goes wrong on purpose, in every seed. */
	readonly plant?: Plant | undefined;
	/** Told of every seed; true ends the run. */
	readonly ran: (result: SeedResult) => boolean;
}

/** Runs seeds in threads, as many at once as there are jobs. Each thread takes the next seed when it has ended one. */
export async function runSeeds(seeds: readonly number[], options: RunSeedsOptions): Promise<void> {
	const left = [...seeds];
	const next = (result?: SeedResult): number | undefined => {
		if (result !== undefined && options.ran(result)) left.length = 0;
		return left.shift();
	};
	const jobs = Math.min(options.jobs, seeds.length);
	await Promise.all(Array.from({ length: jobs }, () => runSome(options, next)));
}

function runSome(
	{ program, keepsTrace = false, plant }: RunSeedsOptions,
	next: (result?: SeedResult) => number | undefined,
): Promise<void> {
	return new Promise((resolve, reject) => {
		const workerData: SeedWork = { keepsTrace, plant };
		const worker = new Worker(program, {
			workerData,
			// Looking up where each of a million errors was made costs more than the rest of them.
			execArgv: keepsTrace ? ['--enable-source-maps'] : [],
			resourceLimits: { maxYoungGenerationSizeMb: 64 },
		});
		const give = (seed: number | undefined): void => {
			if (seed === undefined) void worker.terminate();
			else worker.postMessage(seed);
		};
		worker.on('message', (result: SeedResult) => give(next(result)));
		worker.on('error', reject);
		worker.on('exit', () => resolve());
		give(next());
	});
}
