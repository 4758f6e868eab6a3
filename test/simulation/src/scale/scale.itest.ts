import { fileURLToPath } from 'node:url';

import { expect, it } from 'vitest';

import { runScaleWorker } from './run-scale-worker.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const PATIENCE_MS = 120_000;

it.each([true, false])(
	'no lookup fails when node Spocks are killed while a service changes, and all views agree in the end: own sidecars %s',
	async (hasSidecars) => {
		const shape = { seed: 1, nodes: 5, podsEach: 4, hasSidecars };
		const result = await runScaleWorker(root, shape, `test-scale-${hasSidecars}`);
		expect(result).toMatchObject({ views: 20, killed: 1, failedLookups: 0, firstFailure: null });
		expect(result.agree50Ms).toBeGreaterThan(0);
		expect(result.agreeAllMs).toBeLessThan(result.killedAllMs);
		expect(Number.isFinite(result.killedAllMs)).toBe(true);
		expect(result.lookups).toBeGreaterThan(1000);
	},
	PATIENCE_MS,
);
