import { Worker } from 'node:worker_threads';

import type { SeedResult } from './run-seed.ts';
import type { SeedWork } from './seed-worker.ts';

/** Seeds that a worker is given at once: few, so that all end at about the same time. */
const SEEDS_AT_ONCE = 8;

/** Options of {@link runSeeds}. */
export interface RunSeedsOptions {
	/** The program that `bundle` made. */
	readonly program: string;
	readonly jobs: number;
	readonly keepsTrace?: boolean;
	/** Told of every seed; true ends the run. */
	readonly ran: (result: SeedResult) => boolean;
}

/** Runs seeds in threads, as many at once as there are jobs, and each in a thread's own globals. */
export async function runSeeds(seeds: readonly number[], options: RunSeedsOptions): Promise<void> {
	const left = [...seeds];
	let isOver = false;
	const work = async (): Promise<void> => {
		while (left.length > 0 && !isOver) {
			await runSome(left.splice(0, SEEDS_AT_ONCE), options, (result) => {
				if (options.ran(result)) isOver = true;
				return isOver;
			});
		}
	};
	await Promise.all(Array.from({ length: options.jobs }, work));
}

function runSome(
	seeds: readonly number[],
	{ program, keepsTrace = false }: RunSeedsOptions,
	ran: (result: SeedResult) => boolean,
): Promise<void> {
	return new Promise((resolve, reject) => {
		const workerData: SeedWork = { seeds, keepsTrace };
		const worker = new Worker(program, {
			workerData,
			execArgv: ['--enable-source-maps'],
			resourceLimits: { maxYoungGenerationSizeMb: 64 },
		});
		worker.on('message', (result: SeedResult) => {
			if (ran(result)) void worker.terminate();
		});
		worker.on('error', reject);
		worker.on('exit', () => resolve());
	});
}
