import { describe, expect, it } from 'vitest';

import { openOwnTools } from '../toolbox.ts';
import { brokenPromises } from './broken-promises.ts';
import { measureScenario } from './measure-scenario.ts';
import { failed } from './rolling-results.ts';
import type { RestartOrder } from './service-group.ts';
import { WAY_NAMES, WAYS } from './ways/ways.ts';

// Needs the built packages, as every test that starts processes of ours.
describe('a rolling restart under load', () => {
	it.each<RestartOrder>(['surge', 'in-place'])(
		'no way of Spock fails a request: %s',
		async (order) => {
			const tools = openOwnTools(process.execPath);
			const scenario = {
				order,
				instances: 2,
				restarts: 1,
				preStopMs: 300,
				workMs: 2,
				pauseMs: 0,
				rate: 50,
				dnsTtlMs: 500,
			};
			try {
				const result = await measureScenario({ tools, say: () => undefined }, scenario, WAY_NAMES);
				expect(brokenPromises([result])).toEqual([]);
				for (const way of result.ways) {
					expect(way.requests).toBeGreaterThan(0);
					// Work is shared out; how long an instance is there, and gets some, is up to the machine.
					if (!WAYS[way.way].mayFail) expect(way.instancesSeen).toBeGreaterThanOrEqual(scenario.instances);
					else expect(failed(way)).toBeLessThan(way.requests);
				}
			} finally {
				tools.close();
			}
		},
		120_000,
	);
});
