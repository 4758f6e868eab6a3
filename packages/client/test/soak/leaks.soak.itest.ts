import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { countFromEnv } from '../count-from-env.ts';
import { plantedLeaks } from './planted-leaks.ts';
import { runSoak, type SoakResult } from './run-soak.ts';

const CYCLES = countFromEnv('SPOCK_SOAK_CYCLES', 10_000);
const SAMPLES = 24;
/** A planted leak is found much sooner than that. */
const PLANTED_CYCLES = Math.max(480, Math.ceil(CYCLES / 20));
/** One in the heap must stand out from what fills up at first, without any leak. */
const PLANTED_HEAP_CYCLES = 4 * PLANTED_CYCLES;
const PLANTED_SAMPLES = 8;
const TEST_MS_MAX = 120_000 + CYCLES * 50;
const REPORT = fileURLToPath(new URL('../../../../reports/soak.json', import.meta.url));

const planted: { name: string; side: string; found: readonly string[] }[] = [];

function report(result: SoakResult): void {
	mkdirSync(dirname(REPORT), { recursive: true });
	writeFileSync(REPORT, `${JSON.stringify({ ...result, planted }, null, 2)}\n`);
}

describe('a soak', () => {
	let result: SoakResult | undefined;
	/** As long as those with a leak in the heap, and without one. */
	let control: SoakResult | undefined;

	it(
		`of ${CYCLES} cycles leaves nothing behind, on either side`,
		async () => {
			result = await runSoak(CYCLES, SAMPLES);
			report(result);
			process.stdout.write(`${JSON.stringify(result)}\n`);
			const { client, sidecar } = result.reports;
			expect({ client: client.leaks, sidecar: sidecar.leaks }).toEqual({ client: [], sidecar: [] });
			expect(Object.values(result.made).reduce((sum, count) => sum + count)).toBe(CYCLES);
			// Every kind of end was among them.
			const ends = ['ABORTED', 'CLOSED', 'DISCONNECTED', 'NO_SUCH_SERVICE', 'TIMEOUT', 'ok'];
			expect(Object.keys(result.ends)).toEqual(expect.arrayContaining(ends));
		},
		TEST_MS_MAX,
	);

	it.each(plantedLeaks)(
		'finds a planted leak: $name',
		async (leak) => {
			const { name, side, figure } = leak;
			const cycles = figure === 'heap' ? PLANTED_HEAP_CYCLES : PLANTED_CYCLES;
			const { reports } = await runSoak(cycles, PLANTED_SAMPLES, leak);
			const found = reports[side].leaks;
			planted.push({ name, side, found });
			if (result !== undefined) report(result);
			process.stdout.write(`${name}: ${found.join('; ')}\n`);
			expect(found).toContainEqual(expect.stringMatching(`^${figure}: `));
			if (figure !== 'heap') return;
			control ??= await runSoak(cycles, PLANTED_SAMPLES);
			expect(reports[side].heapBytesPerCycle).toBeGreaterThan(2 * control.reports[side].heapBytesPerCycle);
		},
		TEST_MS_MAX,
	);
});
