import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { describe, expect, it } from 'vitest';

import { bundle } from './bundle.ts';
import { PLANTS } from './plants.ts';
import type { SeedResult } from './run-seed.ts';
import { runSeeds } from './run-seeds.ts';
import type { SeedRun } from './seed-worker.ts';
import { readSeeds } from './seeds-file.ts';
import { INVARIANTS } from './violation.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const PATIENCE_MS = 300_000;

/** Runs these in so many threads; gives what came of each, in their order. */
async function results(runs: readonly SeedRun[], name: string, jobs = 2): Promise<(SeedResult | undefined)[]> {
	const found = new Map<SeedRun, SeedResult>();
	await runSeeds(runs, { program: await bundle(root, name), jobs, ran: (result, run) => found.set(run, result) });
	return runs.map((run) => found.get(run));
}

describe('the simulation', () => {
	it(
		'one seed is the same events each time, in this process and in another one; two seeds are not',
		async () => {
			const [first, second, other] = await results(
				[{ seed: 2 }, { seed: 2 }, { seed: 8, isOfEvents: true }],
				'test-twice',
				1,
			);
			expect(first?.violation).toBeUndefined();
			expect(first?.events).toBeGreaterThan(1000);
			// A world with other machines too.
			expect(first?.counts.vanished).toBeGreaterThan(0);
			expect(second).toEqual(first);
			expect(other?.hash).not.toBe(first?.hash);
			const run = promisify(execFile);
			const { stdout } = await run(process.execPath, ['tools/simulation.js', '--seed', '2'], { cwd: root });
			expect(stdout).toContain(`trace ${first?.hash}`);
		},
		PATIENCE_MS,
	);

	it(
		'keeps every promise under the seeds that ever failed',
		async () => {
			const seeds = readSeeds(root);
			const found = await results(seeds, 'test-kept');
			expect(found.map((result) => [result?.seed, result?.violation])).toEqual(
				seeds.map(({ seed }) => [seed, undefined]),
			);
		},
		PATIENCE_MS,
	);

	it(
		'finds each planted fault by the promise that it breaks, with its seed',
		async () => {
			const runs = PLANTS.map(({ name, seed }) => ({ plant: name, seed }));
			const found = await results(runs, 'test-plants');
			expect(PLANTS.map(({ name }, at) => [name, found[at]?.violation?.invariant])).toEqual(
				PLANTS.map(({ name, invariant }) => [name, invariant]),
			);
		},
		PATIENCE_MS,
	);

	it('has a planted fault for every promise, and no two of one name', () => {
		const proved = new Set(PLANTS.map(({ invariant }) => invariant));
		expect(INVARIANTS.filter((invariant) => !proved.has(invariant))).toEqual([]);
		expect(new Set(PLANTS.map(({ name }) => name)).size).toBe(PLANTS.length);
	});
});
