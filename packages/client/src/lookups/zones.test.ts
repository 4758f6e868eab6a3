import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import type { ServiceInstance, ServiceSnapshot } from '@spock/protocol';
import { fakeInstance, fakeSnapshot, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { directClient, picks } from '../../test/direct-client.ts';
import { simulate } from '../../test/simulated-client.ts';
import type { CreateOptions } from '../connect.ts';
import type { Diplomat } from '../diplomat.ts';
import type { SharesMessage } from '../foundation/diagnostics.ts';

/** So many instances of each zone. */
function inZones(counts: Readonly<Record<string, number>>, members: Partial<ServiceSnapshot> = {}): ServiceSnapshot {
	const instances = Object.entries(counts).flatMap(([zone, count], place) =>
		Array.from({ length: count }, (_, index): ServiceInstance => {
			return fakeInstance(`${zone}-${index}`, { host: `10.0.${place}.${index}`, zone });
		}),
	);
	return { ...fakeSnapshot('barista', 1, []), instances, ...members };
}

function zonal(snapshot: ServiceSnapshot, options: CreateOptions = {}) {
	const client = directClient({ zone: 'a', zonePolicy: 'prefer', ejectAfterFailures: 1, ...options });
	client.publish(snapshot);
	return client;
}

/** The part of so many picks that each zone gets. */
function shares(diplomat: Diplomat, count = 1000): Record<string, number> {
	const counts: Record<string, number> = {};
	for (let turn = 0; turn < count; turn++) {
		const zone = diplomat.pick('barista')?.instance.slice(0, 1) ?? 'none';
		counts[zone] = (counts[zone] ?? 0) + 1;
	}
	return Object.fromEntries(Object.entries(counts).map(([zone, picked]) => [zone, Math.round((100 * picked) / count)]));
}

function fail(diplomat: Diplomat, snapshot: ServiceSnapshot, names: readonly string[]): void {
	for (const one of snapshot.instances) {
		if (!names.includes(one.instance)) continue;
		diplomat.report({ ...one, query: { service: 'barista' } }, 'failure', 1);
	}
}

describe('zones', () => {
	it('lookups stay in the local zone, or spill over by the weight that it lacks', async () => {
		expect(shares(zonal(inZones({ a: 3, b: 3 })).diplomat)).toEqual({ a: 100 });
		const { diplomat } = zonal(inZones({ a: 1, b: 3 }));
		expect(shares(diplomat)).toEqual({ a: 50, b: 50 });
		const found = await Promise.all(Array.from({ length: 24 }, () => diplomat.getService('barista')));
		const local = found.filter(({ instance }) => instance.startsWith('a')).length;
		expect(Math.abs(local - 12)).toBeLessThanOrEqual(1);
	});

	it('do not matter by default, nor while that of the client is unknown', () => {
		for (const options of [{ zonePolicy: 'any' }, { zone: undefined }] as CreateOptions[]) {
			expect(shares(zonal(inZones({ a: 1, b: 3 }), options).diplomat)).toEqual({ a: 25, b: 75 });
		}
	});

	it('are followed when instances come, leave or are unhealthy', () => {
		const { diplomat, publish } = zonal(inZones({ a: 2, b: 2 }));
		expect(shares(diplomat)).toEqual({ a: 100 });
		const before = inZones({ a: 2, b: 2 });
		const sick = before.instances.map((one) =>
			one.instance === 'a-0' ? { ...one, status: 'critical' as const } : one,
		);
		publish({ ...before, instances: sick });
		expect(shares(diplomat)).toEqual({ a: 67, b: 33 });
		publish(inZones({ b: 2 }));
		expect(shares(diplomat)).toEqual({ b: 100 });
		publish(inZones({ a: 2, b: 2 }));
		expect(shares(diplomat)).toEqual({ a: 100 });
	});

	it('do not matter in a panic', () => {
		const snapshot = inZones({ a: 1, b: 3 }, { panic: true });
		expect(shares(zonal(snapshot).diplomat)).toEqual({ a: 25, b: 75 });
	});

	it('an ejected instance weighs nothing: its zone spills over, and all of it may be out', async () => {
		const snapshot = inZones({ a: 2, b: 2, c: 2 });
		const { diplomat, clock } = zonal(snapshot);
		fail(diplomat, snapshot, ['a-0']);
		expect(shares(diplomat)).toEqual({ a: 60, b: 20, c: 20 });
		fail(diplomat, snapshot, ['a-1']);
		expect(shares(diplomat)).toEqual({ b: 50, c: 50 });
		await clock.advance(10_000);
		expect(shares(diplomat)).toEqual({ a: 100 });
	});

	it('a local zone that fails gets no more than its part while the limit of ejections keeps it in', () => {
		const snapshot = inZones({ a: 4, b: 2 });
		const { diplomat } = zonal(snapshot);
		// Three of six may be out: one of the zone stays.
		fail(diplomat, snapshot, ['a-0', 'a-1', 'a-2', 'a-3']);
		expect(shares(diplomat)).toEqual({ a: 33, b: 67 });
		const unlimited = zonal(snapshot, { ejectedPercentMax: 0 });
		fail(unlimited.diplomat, snapshot, ['a-0', 'a-1', 'a-2', 'a-3']);
		expect(shares(unlimited.diplomat)).toEqual({ a: 100 });
	});

	it('another one than those that failed is looked for in the local zone first, then anywhere', () => {
		const { diplomat } = zonal(inZones({ a: 2, b: 2 }), { random: () => 0 });
		const other = (...exclude: string[]): string | undefined =>
			diplomat.pick('barista', { exclude: new Set(exclude) })?.instance;
		expect(other('a-0')).toBe('a-1');
		expect(other('a-0', 'a-1')).toMatch(/^b/);
	});

	it('that of the sidecar is taken where the client has none of its own', async () => {
		for (const [own, expected] of [
			[undefined, 'b'],
			['a', 'a'],
		] as const) {
			const { diplomat, sidecar } = await simulate({ zonePolicy: 'prefer', ...(own && { zone: own }) }, { zone: 'b' });
			sidecar.publish(inZones({ a: 2, b: 2 }));
			await diplomat.getService('barista');
			await settle();
			expect(diplomat.status().zone).toBe(expected);
			expect(shares(diplomat)).toEqual({ [expected]: 100 });
			await diplomat.close();
		}
	});

	it('explain says why an instance is local, spilled, or out', async () => {
		const { diplomat, publish } = zonal(inZones({ a: 1, b: 1, c: 4 }));
		diplomat.pick('barista');
		const reasons = async (): Promise<(readonly [boolean, string])[]> => {
			const { instances } = await diplomat.explain('barista');
			return instances.map(({ included, reason }) => [included, reason.replace('all its checks pass; ', '')] as const);
		};
		expect((await reasons()).slice(0, 3)).toEqual([
			[true, 'local: in zone "a", which gets 50 % of the work'],
			[false, 'out: in zone "b", and it has no weight to spare'],
			[true, 'spilled: in zone "c", which gets 50 % of the work'],
		]);
		publish(inZones({ a: 3, b: 1 }));
		expect((await reasons()).at(-1)).toEqual([false, 'out: in zone "b", and the local zone "a" is enough']);
		publish(inZones({ a: 1, b: 1 }, { panic: true }));
		expect((await reasons())[0]).toEqual([true, 'zones do not matter in a panic']);
		const unknown = zonal(inZones({ a: 1, b: 1 }), { zone: undefined } as unknown as CreateOptions).diplomat;
		expect((await unknown.explain('barista')).instances[0]?.reason).toBe(
			'all its checks pass; zones do not matter: that of this client is unknown',
		);
	});

	it('an explanation of a sidecar may be anything', async () => {
		const answers: unknown[] = [null, 5, { instances: 5 }, { instances: [null, 5, {}, { included: true }] }];
		const odd = { included: true, instance: 7, host: null, weight: 'x', zone: {} };
		answers.push({ instances: [odd, { ...odd, instance: 'a', host: 'b', weight: 1 }], panic: 'no' });
		for (const data of answers) {
			const { diplomat } = await simulate(
				{ zone: 'a', zonePolicy: 'prefer', subset: 2 },
				{ handle: ({ func }) => (func === 'explain' ? { data } : undefined) },
			);
			await diplomat.explain('barista').catch((error) => expect(error).toMatchObject({ code: 'PROTOCOL' }));
			await diplomat.close();
		}
	});

	it('that of the next sidecar is taken after a reconnect', async () => {
		const script: { zone?: string } = {};
		const { diplomat, sidecar, clock } = await simulate({ zonePolicy: 'prefer' }, script);
		sidecar.publish(inZones({ a: 2, b: 2 }));
		await diplomat.getService('barista');
		expect(shares(diplomat)).toEqual({ a: 50, b: 50 });
		script.zone = 'b';
		sidecar.connections.at(-1)?.stream.destroy();
		await settle();
		await clock.advance(1000);
		await settle();
		expect(diplomat.status()).toMatchObject({ state: 'ready', zone: 'b' });
		expect(shares(diplomat)).toEqual({ b: 100 });
		await diplomat.close();
	});

	it('each new plan is published with the share of each zone', () => {
		const seen: SharesMessage[] = [];
		const listener = (message: unknown): void => void seen.push(message as SharesMessage);
		subscribe('spock:client:shares', listener);
		try {
			const { diplomat } = zonal(inZones({ a: 1, b: 3 }));
			for (let turn = 0; turn < 8; turn++) diplomat.pick('barista', { exclude: new Set(['a-0']) });
		} finally {
			unsubscribe('spock:client:shares', listener);
		}
		expect(seen).toEqual([
			{
				query: { service: 'barista' },
				zone: 'a',
				shares: [
					{ zone: 'a', weight: 0.25, callers: 0.5, work: 0.5 },
					{ zone: 'b', weight: 0.75, callers: 0.5, work: 0.5 },
				],
			},
		]);
	});
});

describe('a subset', () => {
	const hundred = inZones({ a: 60, b: 40 });

	it('is of as many instances as the option says, for each service or for those named', () => {
		const { diplomat, publish } = directClient({ subset: 20, subsetKey: 'pod-1' });
		publish(hundred);
		expect(picks(diplomat, 200).size).toBe(20);
		for (const [subset, size] of [
			[{ barista: 5 }, 5],
			[{ orders: 5 }, 100],
		] as const) {
			const named = directClient({ subset, subsetKey: 'pod-1' });
			named.publish(hundred);
			expect(picks(named.diplomat, 200).size).toBe(size);
		}
	});

	it('an instance that is out is replaced, and taken back when it is well again', async () => {
		const { diplomat, publish, clock } = directClient({ subset: 20, subsetKey: 'pod-1', ejectAfterFailures: 1 });
		publish(hundred);
		const before = picks(diplomat, 200);
		const [victim] = hundred.instances.filter(({ host }) => before.has(host));
		fail(diplomat, hundred, [victim?.instance ?? '']);
		const meanwhile = picks(diplomat, 200);
		expect(meanwhile.size).toBe(20);
		expect([...before].filter((host) => !meanwhile.has(host))).toEqual([victim?.host]);
		await clock.advance(11_000);
		expect(picks(diplomat, 200)).toEqual(before);
		publish({ ...hundred, instances: hundred.instances.filter((one) => one !== victim) });
		expect(picks(diplomat, 200)).toEqual(meanwhile);
	});

	it('explain says who is in it', async () => {
		const { diplomat, publish } = directClient({ subset: 20, subsetKey: 'pod-1' });
		publish(hundred);
		const inIt = picks(diplomat, 200);
		const { instances } = await diplomat.explain('barista');
		for (const { host, included, reason } of instances) {
			expect(included).toBe(inIt.has(host));
			expect(reason).toContain(included ? "; in this client's subset of 20" : "; not in this client's subset of 20");
		}
	});
});
