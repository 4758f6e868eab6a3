import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { askWorker, bundleWorker, killWorker, startWorker, workerReply } from '../worker-process.ts';
import { findLeaks, type LeakReport, type SoakSample } from './find-leaks.ts';
import type { PlantedLeak } from './planted-leaks.ts';
import type { SoakCommand, SoakReply, SoakSettings } from './soak-messages.ts';

const ANSWER_MS_MAX = 120_000;
/** What V8 compiles, drops and records of functions that run seldom fills the heap for as long as a soak lasts: all of it at their first call. */
const FLAGS = ['--expose-gc', '--jitless', '--no-flush-bytecode', '--no-lazy-feedback-allocation'];
const SIDES = ['client', 'sidecar'] as const;

/** What came of a soak. */
export interface SoakResult {
	readonly cycles: number;
	/** Connections that the sidecar dropped in the middle of something, beside the kinds of cycle that end badly. */
	readonly killed: number;
	/** By kind of cycle. */
	readonly made: Readonly<Record<string, number>>;
	/** By the end that a call came to: `ok`, or the code of its error. */
	readonly ends: Readonly<Record<string, number>>;
	/** The heap of both after each collection, in KiB. */
	readonly heapKiB: Readonly<Record<(typeof SIDES)[number], readonly number[]>>;
	readonly reports: Readonly<Record<(typeof SIDES)[number], LeakReport>>;
	readonly first: Readonly<Record<(typeof SIDES)[number], SoakSample['figures']>>;
	readonly last: Readonly<Record<(typeof SIDES)[number], SoakSample['figures']>>;
}

/** Runs a sidecar and an app through cycles, and measures both so often between them. `leak`: one to plant, which must be found. */
export async function runSoak(cycles: number, sampleCount: number, leak?: PlantedLeak): Promise<SoakResult> {
	const directory = await mkdtemp('/tmp/spock-soak-');
	const path = join(directory, 'sidecar.sock');
	const processes: Partial<Record<(typeof SIDES)[number], ChildProcess>> = {};
	const start = async (side: (typeof SIDES)[number]): Promise<ChildProcess> => {
		const settings: SoakSettings = { path, leak: leak?.side === side ? leak.name : undefined };
		const worker = await bundleWorker(new URL(`soak-${side}.ts`, import.meta.url), directory);
		const process = startWorker(worker, { settings, execArgv: FLAGS });
		processes[side] = process;
		await workerReply<SoakReply, 'ready'>(process, 'ready', ANSWER_MS_MAX);
		return process;
	};
	try {
		const sidecar = await start('sidecar');
		const client = await start('client');
		return await measure(cycles, sampleCount, { client, sidecar });
	} finally {
		await Promise.all(Object.values(processes).map(killWorker));
		await rm(directory, { recursive: true, force: true });
	}
}

async function measure(
	cycles: number,
	sampleCount: number,
	{ client, sidecar }: Readonly<Record<(typeof SIDES)[number], ChildProcess>>,
): Promise<SoakResult> {
	const samples = { client: [] as SoakSample[], sidecar: [] as SoakSample[] };
	const figures = (process: ChildProcess): Promise<Extract<SoakReply, { readonly kind: 'figures' }>> =>
		askWorker<SoakReply, 'figures'>(process, { kind: 'figures' }, ANSWER_MS_MAX);
	const step = Math.max(1, Math.ceil((cycles * 0.5) / sampleCount));
	let made: Readonly<Record<string, number>> = {};
	let ends: Readonly<Record<string, number>> = {};
	let killed = 0;
	let done = 0;
	// Code is compiled and caches fill up before anything is measured; these count as well.
	await askWorker<SoakReply, 'cycles'>(client, { kind: 'cycles', count: Math.ceil(cycles / 2) }, ANSWER_MS_MAX);
	done += Math.ceil(cycles / 2);
	while (done < cycles) {
		const command: SoakCommand = { kind: 'cycles', count: Math.min(step, cycles - done) };
		({ made, ends } = await askWorker<SoakReply, 'cycles'>(client, command, ANSWER_MS_MAX));
		done += command.count;
		const ofSidecar = await figures(sidecar);
		killed = ofSidecar.killed;
		samples.sidecar.push({ cycles: done, figures: ofSidecar.figures });
		samples.client.push({ cycles: done, figures: (await figures(client)).figures });
	}
	return {
		cycles: done,
		killed,
		made,
		ends,
		heapKiB: { client: heapOf(samples.client), sidecar: heapOf(samples.sidecar) },
		reports: { client: findLeaks(samples.client), sidecar: findLeaks(samples.sidecar) },
		first: { client: figuresAt(samples.client, 0), sidecar: figuresAt(samples.sidecar, 0) },
		last: { client: figuresAt(samples.client, -1), sidecar: figuresAt(samples.sidecar, -1) },
	};
}

function heapOf(samples: readonly SoakSample[]): number[] {
	return samples.map(({ figures }) => Math.round(figures.heapBytes / 1024));
}

function figuresAt(samples: readonly SoakSample[], index: number): SoakSample['figures'] {
	return (samples.at(index) as SoakSample).figures;
}
