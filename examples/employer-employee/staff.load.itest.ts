import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { spawnProcess } from '@spock/testkit';
import { expect, it } from 'vitest';

const load = fileURLToPath(new URL('./load.js', import.meta.url));

interface Result {
	readonly way: string;
	readonly failed: number;
	readonly shares: readonly number[];
	readonly latencyMs: Readonly<Record<string, number>>;
	readonly change: { readonly failed: number; readonly evenAfterMs: number | null };
}

it('one connection sends all work to one of five; the pool and the resolver share it out, and no change fails a request', async () => {
	const directory = await mkdtemp(join(tmpdir(), 'spock-load-'));
	const json = join(directory, 'results.json');
	const args = ['--requests', '400', '--in-flight', '20', '--work-ms', '1', '--notice-ms', '50', '--json', json];
	await using run = spawnProcess(process.execPath, [load, ...args]);
	expect(await run.finished).toMatchObject({ exitCode: 0, stderr: '' });
	const { ways } = JSON.parse(await readFile(json, 'utf8')) as { readonly ways: readonly Result[] };
	await rm(directory, { recursive: true });
	const [single, perRequest, pool, resolver] = ways as [Result, Result, Result, Result];
	expect(ways.map(({ way }) => way)).toEqual(['single', 'per-request', 'pool', 'resolver']);
	expect(ways.map(({ failed }) => failed)).toEqual([0, 0, 0, 0]);

	expect(single.shares).toEqual([1, 0, 0, 0, 0]);
	for (const { shares } of [perRequest, pool, resolver]) {
		expect(shares.length).toBe(5);
		for (const share of shares) expect(share).toBeCloseTo(0.2, 1);
	}
	// One was killed and one came in: the single channel never finds it.
	expect(single.change.evenAfterMs).toBe(null);
	expect([pool.change.failed, resolver.change.failed]).toEqual([0, 0]);
	for (const { change } of [perRequest, pool, resolver]) expect(change.evenAfterMs).not.toBe(null);
	for (const { latencyMs } of ways) expect(Object.keys(latencyMs)).toEqual(['p10', 'p25', 'p50', 'p75', 'p90', 'p99']);
}, 120_000);

it.each(['load.js', 'employer.js'])('%s says which ways there are', async (file) => {
	const path = fileURLToPath(new URL(file, import.meta.url));
	await using run = spawnProcess(process.execPath, [path, '--way', 'foo']);
	const stderr = '--way must be one of single, per-request, pool, resolver, not "foo"\n';
	expect(await run.finished).toMatchObject({ exitCode: 2, stderr });
});
