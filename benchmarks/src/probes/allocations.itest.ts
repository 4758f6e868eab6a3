import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { spawnProcess } from '@spock/testkit';
import { beforeAll, describe, expect, it } from 'vitest';

import { bundleSources } from '../bundle-sources.ts';
import { ALLOCATION_FLAGS } from './allocated-bytes.ts';
import type { Allocation } from './allocations.ts';

/**
 * The most bytes that one operation may allocate. Each version of Node gives the same figure every time, on a busy machine
 * too; the bounds are one and a half times the largest of Node 20 to 26, and 1.2 times that for the client, whose calls are
 * made of so much that less would not show. Where nothing was allocated, nothing may be: the rest of a byte is for what
 * happens once in a measurement.
 */
const BYTES_MAX: Readonly<Record<string, number>> = {
	'ring: issue and take': 0.5,
	'encoder: head of a request': 48,
	'encoder: a reply from a payload': 132,
	'decoder: 100 replies in one chunk': 18_000,
	'memo: a payload seen before': 48,
	'reader: a request in full': 264,
	'picker: round-robin of 10': 0.5,
	'picker: local zone of 10': 0.5,
	'picker: zones of 10, spilled over': 0.5,
	'picker: subset of 5 of 10': 0.5,
	// The random number.
	'picker: weighted of 10': 24,
	'picker: consistent hash of 10': 0.5,
	'cache: peek': 0.5,
	'client: pick() from a snapshot': 0.5,
	'client: pick() from a snapshot, with zones and a subset': 0.5,
	'client: await getService() from a snapshot': 240,
	// With what the peer of the measurement allocates.
	'client: one call at a time': 2150,
	// Of objects that are made member by member behind a spread: 38,400.
	'client: ten instances, read from the wire': 15_700,
	'client: 64 calls in flight': 86_500,
};

/** Runs the probe as built from the sources, on the Node that runs the tests. */
async function measure(): Promise<readonly Allocation[]> {
	const directory = mkdtempSync(join(tmpdir(), 'spock-allocations-'));
	try {
		const probe = fileURLToPath(new URL('probe.ts', import.meta.url));
		const entry = await bundleSources({ probe }, directory);
		await using process = spawnProcess(globalThis.process.execPath, [
			...ALLOCATION_FLAGS,
			entry('probe'),
			'allocations',
		]);
		const { exitCode, stdout, stderr } = await process.finished;
		if (exitCode !== 0) throw new Error(`the probe ended with ${exitCode}: ${stderr}`);
		return JSON.parse(stdout) as readonly Allocation[];
	} finally {
		rmSync(directory, { recursive: true, force: true });
	}
}

describe('what the hot path allocates', () => {
	let figures: ReadonlyMap<string, number>;
	beforeAll(async () => {
		figures = new Map((await measure()).map(({ what, bytes }) => [what, bytes]));
	});

	it('is measured to the byte: an object is seen, and nothing where nothing is allocated', () => {
		expect(figures.get('control: nothing')).toBeLessThan(0.5);
		// Two members, and two or three words that every object has.
		expect(figures.get('control: an object of two members')).toBeGreaterThanOrEqual(32);
		expect(figures.get('control: an object of two members')).toBeLessThanOrEqual(40.5);
	});

	it('has a bound for every operation', () => {
		const operations = [...figures.keys()].filter((what) => !what.startsWith('control: '));
		expect(operations).toEqual(Object.keys(BYTES_MAX));
	});

	it.each(Object.entries(BYTES_MAX))('%s: at most %d bytes', (what, bytesMax) => {
		expect(figures.get(what)).toBeGreaterThanOrEqual(0);
		expect(figures.get(what)).toBeLessThanOrEqual(bytesMax);
	});
});
