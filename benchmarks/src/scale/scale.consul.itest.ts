import { join } from 'node:path';

import { findConsul, startConsul } from '@spock/testkit/real-consul';
import { afterAll, describe, expect, it } from 'vitest';

import { openOwnTools } from '../toolbox.ts';
import { measureHeldQueries } from './measure/held-queries.ts';
import { measureManyServices } from './measure/many-services.ts';
import { measurePushCpu } from './measure/push-cpu.ts';
import { measureReconnects } from './measure/reconnects.ts';
import { measureSecondHop } from './measure/second-hop.ts';
import { measureWays } from './measure/ways.ts';
import type { ConsulScaleRun } from './scale-run.ts';

// Needs the built packages, as every test that starts processes of ours.
describe('rows of the bench of scale over a real Consul, in tiny sizes', () => {
	const tools = openOwnTools(process.execPath);
	afterAll(() => tools.close());
	let places = 0;
	async function measured<T>(measure: (run: ConsulScaleRun) => Promise<T>): Promise<T> {
		await using consul = await startConsul({ binary: findConsul(process.env) });
		return await measure({
			...{ tools, quick: true, consul, say: () => undefined },
			place: (name) => join(tools.directory, `${++places}-${name}`),
		});
	}

	it('node Spocks hold one query for each service, whatever number of sidecars asks them', async () => {
		const { through, without } = await measured(measureHeldQueries);
		expect(through.held).toBeGreaterThanOrEqual(2 * 3);
		// Each may hold one more, of something else than a service.
		expect(through.held).toBeLessThanOrEqual(2 * (3 + 1));
		expect(without.held).toBeGreaterThanOrEqual(20 * 3);
	});

	it('changes are seen behind one Spock and behind two', async () => {
		const { changes, unseen, addedP50Ms } = await measured(measureSecondHop);
		expect([changes, unseen]).toEqual([12, 0]);
		expect(addedP50Ms).toBeGreaterThan(-5);
	});

	it('changes are seen by a sidecar and by bare queries', async () => {
		const { spock, bare } = await measured(measureManyServices);
		expect([spock.unseen, bare.unseen]).toEqual([0, 0]);
	});

	it('the last of many changes reaches the watchers, from Consul, from a list, and with TLS', async () => {
		const { consul, memory, tls } = await measured(measurePushCpu);
		for (const load of [consul, memory, tls]) {
			expect(load?.isSeen).toBe(true);
			expect(load?.cpuPercent).toBeGreaterThan(0);
			expect(load?.megabytesASecond).toBeGreaterThan(0);
		}
	});

	it('clients come back to a node Spock that was killed, and no lookup fails meanwhile', async () => {
		const { restarts } = await measured(measureReconnects);
		expect(restarts).toHaveLength(1);
		expect(restarts[0]).toMatchObject({ failedLookups: 0 });
		expect(restarts[0]?.calls).toBeGreaterThan(0);
	});

	it('each way to run it has its memory', async () => {
		const { ownSidecar, nodeSpock, sidecarBehindNode } = await measured(measureWays);
		for (const { rssMb, pssMb } of [ownSidecar, nodeSpock, sidecarBehindNode]) {
			expect(rssMb).toBeGreaterThan(20);
			expect(pssMb).toBeGreaterThan(0);
		}
	});
});
