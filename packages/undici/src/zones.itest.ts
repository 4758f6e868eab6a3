import { createDiplomat } from '@spock/client';
import { expect, it } from 'vitest';

import { ScriptedSource, startInstances } from '../test/instances.ts';
import { createFetch } from './index.ts';

const URL = 'http://barista.spock/';
const PREFERS = { zone: 'a', zonePolicy: 'prefer' } as const;
/** Of so few requests half is never missed by more than one: see `work-plan.test.ts` of the balancer. */
const HALF = 12;

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
		for (let turn = 0; turn < 2 * HALF; turn++) await (await fetch(URL)).text();
		return web.map(({ received }, index) => received.length - (before[index] as number));
	};
	inZones('a', 'a', 'b', 'b');
	expect(await counts(PREFERS)).toEqual([HALF, HALF, 0, 0]);
	inZones('a', 'b', 'b', 'b');
	const [local = 0] = await counts(PREFERS);
	expect(Math.abs(local - HALF)).toBeLessThanOrEqual(1);
	expect((await counts({ subset: 2, subsetKey: 'pod-1' })).filter((count) => count > 0)).toEqual([HALF, HALF]);
});

it('the local zone dies, and the registry does not know: its instances are ejected by their calls, and the others do the work', async () => {
	await using web = await startInstances(2);
	await using dead = await startInstances(2);
	const gone = dead.map((one) => ({ ...one.record(), instance: `dead-${one.name}`, zone: 'a' }));
	const source = new ScriptedSource({ barista: [...gone, ...web.map((one) => ({ ...one.record(), zone: 'b' }))] });
	await using diplomat = createDiplomat({ source, ...PREFERS, ejectAfterFailures: 1 });
	await using fetch = createFetch({ diplomat });
	for (let turn = 0; turn < 10; turn++) await (await fetch(URL)).text();
	expect(web.map(({ received }) => received.length)).toEqual([0, 0]);
	await dead[Symbol.asyncDispose]();
	let failures = 0;
	for (let turn = 0; turn < 32; turn++)
		await fetch(URL).then(
			(reply) => reply.text(),
			() => failures++,
		);
	expect(failures).toBeLessThanOrEqual(2);
	expect(web.map(({ received }) => received.length).every((count) => count >= 14)).toBe(true);
});
