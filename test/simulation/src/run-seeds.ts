import { Worker } from 'node:worker_threads';

import type { SeedResult } from './run-seed.ts';
import type { SeedRun, SeedWork } from './seed-worker.ts';

/** Options of {@link runSeeds}. */
export interface RunSeedsOptions {
	/** The program that `bundle` made. */
	readonly program: string;
	readonly jobs: number;
	readonly keepsTrace?: boolean;
	/** Told of every seed. */
	readonly ran: (result: SeedResult, run: SeedRun) => void;
}

/** Runs seeds in threads, as many at once as there are jobs. Each thread takes the next one when it has ended one. */
export async function runSeeds(runs: readonly SeedRun[], options: RunSeedsOptions): Promise<void> {
	const left = [...runs];
	const jobs = Math.min(options.jobs, runs.length);
	await Promise.all(Array.from({ length: jobs }, () => runSome(options, () => left.shift())));
}

function runSome(
	{ program, keepsTrace = false, ran }: RunSeedsOptions,
	next: () => SeedRun | undefined,
): Promise<void> {
	return new Promise((resolve, reject) => {
		const workerData: SeedWork = { keepsTrace };
		const worker = new Worker(program, {
			workerData,
			// Looking up where each of a million errors was made costs more than the rest of them.
			execArgv: keepsTrace ? ['--enable-source-maps'] : [],
			resourceLimits: { maxYoungGenerationSizeMb: 64 },
		});
		let run: SeedRun | undefined;
		const goOn = (): void => {
			run = next();
			if (run === undefined) void worker.terminate();
			else worker.postMessage(run);
		};
		worker.on('message', (result: SeedResult) => {
			if (run !== undefined) ran(result, run);
			goOn();
		});
		worker.on('error', reject);
		worker.on('exit', () => resolve());
		goOn();
	});
}
