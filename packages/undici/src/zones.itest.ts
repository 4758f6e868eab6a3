import { createDiplomat } from '@spock/client';
import { expect, it } from 'vitest';

import { ScriptedSource, startInstances } from '../test/instances.ts';
import { createFetch } from './index.ts';

it('requests stay in the local zone, spill over by what it lacks, and reach the subset alone', async () => {
	await using web = await startInstances(4);
	const source = new ScriptedSource();
	const inZones = (...zones: readonly string[]) =>
		source.set(
			'barista',
			web.map((one, index) => ({ ...one.record(), zone: zones[index] ?? null })),
		);
	const counts = async (options: object): Promise<number[]> => {
		await using diplomat = createDiplomat({ source, ...options });
		await using fetch = createFetch({ diplomat });
		const before = web.map(({ received }) => received.length);
		for (let turn = 0; turn < 40; turn++) await (await fetch('http://barista.spock/')).text();
		return web.map(({ received }, index) => received.length - (before[index] as number));
	};
	inZones('a', 'a', 'b', 'b');
	expect(await counts({ zone: 'a', zonePolicy: 'prefer' })).toEqual([20, 20, 0, 0]);
	inZones('a', 'b', 'b', 'b');
	const [local = 0] = await counts({ zone: 'a', zonePolicy: 'prefer' });
	expect(Math.abs(local - 20)).toBeLessThanOrEqual(1);
	expect((await counts({ subset: 2, subsetKey: 'pod-1' })).filter((count) => count > 0)).toEqual([20, 20]);
});
