import { DiscoveryAgent } from '@spock/http';
import { expect, it } from 'vitest';

import { startInstances } from './http-instance.ts';
import { scriptedService } from './scripted-service.ts';
import { send } from './send.ts';

/** Of so few requests half is never missed by more than one: see `work-plan.test.ts` of the balancer. */
const HALF = 12;

it('requests stay in the local zone, spill over by what it lacks, and reach the subset alone', async () => {
	await using web = await startInstances(4);
	const counts = async (options: object, ...zones: readonly string[]): Promise<number[]> => {
		await using service = scriptedService('web', options);
		service.set(web.map(({ id, host, port }, index) => ({ id, host, port, zone: zones[index] ?? null })));
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		const before = web.map(({ requests }) => requests);
		for (let turn = 0; turn < 2 * HALF; turn++) await send('http://web.spock/', { agent });
		agent.destroy();
		return web.map(({ requests }, index) => requests - (before[index] as number));
	};
	const prefers = { zone: 'a', zonePolicy: 'prefer' };
	expect(await counts(prefers, 'a', 'a', 'b', 'b')).toEqual([HALF, HALF, 0, 0]);
	const [local = 0] = await counts(prefers, 'a', 'b', 'b', 'b');
	expect(Math.abs(local - HALF)).toBeLessThanOrEqual(1);
	expect((await counts({ subset: 2, subsetKey: 'pod-1' })).filter((count) => count > 0)).toEqual([HALF, HALF]);
});
