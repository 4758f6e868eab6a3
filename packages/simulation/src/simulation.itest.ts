import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { describe, expect, it } from 'vitest';

import { bundle, plant } from './bundle.ts';
import { MUTANTS } from './mutants.ts';
import { PLANTS, type Plant } from './plants.ts';
import type { SeedResult } from './run-seed.ts';
import { runSeeds } from './run-seeds.ts';
import { readSeeds } from './seeds-file.ts';
import { tryMutants } from './try-mutants.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const PATIENCE_MS = 120_000;

async function results(seeds: readonly number[], name: string, plant?: Plant): Promise<SeedResult[]> {
	const found: SeedResult[] = [];
	const ran = (result: SeedResult): boolean => {
		found.push(result);
		return false;
	};
	await runSeeds(seeds, { program: await bundle(root, name), jobs: 1, plant, ran });
	return found;
}

describe('the simulation', () => {
	it(
		'one seed is the same events each time, in this process and in another one; two seeds are not',
		async () => {
			const [first, second, other] = await results([2, 2, 8], 'test-twice');
			expect(first?.violation).toBeUndefined();
			expect(first?.events).toBeGreaterThan(1000);
			// A world with other machines too.
			expect(first?.counts.vanished).toBeGreaterThan(0);
			expect(second).toEqual(first);
			expect(other?.hash).not.toBe(first?.hash);
			const run = promisify(execFile);
			const { stdout } = await run(process.execPath, ['tools/sim.js', '--seed', '2'], { cwd: root });
			expect(stdout).toContain(`trace ${first?.hash}`);
		},
		PATIENCE_MS,
	);

	it(
		'keeps every promise under the seeds that ever failed',
		async () => {
			const seeds = readSeeds(root).map(({ seed }) => seed);
			expect((await results(seeds, 'test-kept')).map(({ seed, violation }) => [seed, violation])).toEqual(
				seeds.map((seed) => [seed, undefined]),
			);
		},
		PATIENCE_MS,
	);

	it.each(Object.entries(PLANTS))(
		'what goes wrong on purpose is found: %s',
		async (plant, { invariant, seed }) => {
			const [found] = await results([seed], 'test-plants', plant as Plant);
			expect(found?.violation?.invariant).toBe(invariant);
		},
		PATIENCE_MS,
	);

	it(
		'a planted bug is found, and by its recorded seed alone',
		async () => {
			const names = ['a call is settled twice'];
			const [outcome] = await tryMutants({
				root,
				jobs: 1,
				seedsMax: 0,
				isQuick: true,
				names,
				share: [0, 1],
				tried: () => undefined,
			});
			expect(outcome?.found?.violation?.invariant).toBe('settles once and in time');
		},
		PATIENCE_MS,
	);
});

describe('planting', () => {
	it('a bug whose text is not there exactly once is an error', () => {
		const mutant = { name: 'm', file: 'f.ts', find: 'one', replace: 'two', seed: 1 };
		expect(plant('just one', mutant)).toBe('just two');
		expect(() => plant('nothing', mutant)).toThrow('stands 0 times in packages/f.ts');
		expect(() => plant('one and one', mutant)).toThrow('stands 2 times');
	});

	it('at least ten bugs are planted, no two of one name', () => {
		expect(MUTANTS.length).toBeGreaterThanOrEqual(10);
		expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
	});
});
