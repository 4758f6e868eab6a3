import type { InstanceStatus, ServiceInstance, ServiceSnapshot } from '@spock/protocol';
import { fakeInstance as instance } from '@spock/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { explain, inspectionOf } from './explain.ts';
import { createPicker } from './pickers.ts';
import { balancingPolicies, needsRecords } from './policies.ts';
import { noInstanceError, toAddress } from './served-instances.ts';

function snapshot(instances: readonly ServiceInstance[], members: Partial<ServiceSnapshot> = {}): ServiceSnapshot {
	return { service: 'barista', revision: 1, instances, source: 'live', ageMs: 0, verifiedAt: 1, ...members };
}

const names = (count: number): ServiceInstance[] =>
	Array.from({ length: count }, (_, index) => instance(`node/${index}`));

/** Uniform enough for shares, and the same in every run (Numerical Recipes' LCG). */
function seeded(seed: number): () => number {
	let state = seed >>> 0;
	return () => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return state / 2 ** 32;
	};
}

describe.each(balancingPolicies)('every policy: %s', (policy) => {
	it('is named by its picker', () => {
		expect(createPicker(policy, snapshot(names(1))).policy).toBe(policy);
	});

	it('gives a key the same instance in every version: an upgrade of one app must not move the keys of all', () => {
		const picker = createPicker(policy, snapshot(names(10)));
		const keys = ['', 'user-1', 'user-2', 'user-3', 'Grüße', '4711'];
		expect(keys.map((key) => picker.pick({ key })?.instance)).toEqual([
			'node/4',
			'node/4',
			'node/2',
			'node/2',
			'node/7',
			'node/0',
		]);
	});

	it('picks passing and warning instances only, and nothing when there is none', () => {
		const statuses: InstanceStatus[] = ['passing', 'warning', 'critical', 'maintenance'];
		fc.assert(
			fc.property(fc.array(fc.constantFrom(...statuses)), fc.option(fc.string(), { nil: undefined }), (list, key) => {
				const picker = createPicker(policy, snapshot(list.map((status, index) => instance(`${index}`, { status }))));
				for (let turn = 0; turn < 8; turn++) {
					const picked = picker.pick(key === undefined ? {} : { key });
					if (list.some((status) => status === 'passing' || status === 'warning')) {
						expect(['passing', 'warning']).toContain(picked?.status);
					} else expect(picked).toBeUndefined();
				}
			}),
		);
	});

	it('gives equal keys the same instance, and moves only the keys of an instance that leaves', () => {
		const before = createPicker(policy, snapshot(names(10)), { random: seeded(1) });
		const after = createPicker(policy, snapshot(names(10).filter(({ instance: name }) => name !== 'node/3')), {
			random: seeded(2),
		});
		const shares = new Map<string, number>();
		for (let user = 0; user < 2000; user++) {
			const key = `user-${user}`;
			const picked = before.pick({ key })?.instance ?? '';
			expect(before.pick({ key })?.instance).toBe(picked);
			shares.set(picked, (shares.get(picked) ?? 0) + 1);
			if (picked !== 'node/3') expect(after.pick({ key })?.instance).toBe(picked);
		}
		expect(shares.size).toBe(10);
		for (const share of shares.values()) expect(share).toBeGreaterThan(100);
	});
});

describe('round-robin', () => {
	it('gives every serving instance the same number of picks in each round, from a drawn start', () => {
		fc.assert(
			fc.property(fc.integer({ min: 1, max: 20 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (count, start) => {
				const picker = createPicker('round-robin', snapshot(names(count)), { random: () => start });
				expect(picker.pick()?.instance).toBe(`node/${Math.floor(start * count)}`);
				const rounds = Array.from({ length: count * 3 }, () => picker.pick()?.instance);
				for (const { instance: name } of names(count))
					expect(rounds.filter((picked) => picked === name)).toHaveLength(3);
			}),
		);
	});
});

describe('random', () => {
	it('gives equal shares, whatever the weights', () => {
		const picker = createPicker('random', snapshot([instance('a'), instance('b', { weight: 9 })]), {
			random: seeded(11),
		});
		const picks = Array.from({ length: 4000 }, () => picker.pick()?.instance);
		expect(picks.filter((picked) => picked === 'a').length / picks.length).toBeCloseTo(0.5, 1);
	});
});

it('only the policies that compare loads need records of calls', () => {
	expect(balancingPolicies.filter(needsRecords)).toEqual(['least-in-flight', 'least-latency']);
});

describe('weighted', () => {
	it('gives the draw just at the end of a share to the next instance', () => {
		const draws = [0, 0.2499, 0.25, 0.9999];
		const picker = createPicker('weighted', snapshot([instance('a'), instance('b', { weight: 3 })]), {
			random: () => draws.shift() ?? 0,
		});
		expect(Array.from({ length: 4 }, () => picker.pick()?.instance)).toEqual(['a', 'a', 'b', 'b']);
	});

	it('follows the weights, and weight 0 gets nothing', () => {
		const instances = [instance('a', { weight: 1 }), instance('b', { weight: 3 }), instance('c', { weight: 0 })];
		const picker = createPicker('weighted', snapshot(instances), { random: seeded(7) });
		const picks = Array.from({ length: 4000 }, () => picker.pick()?.instance);
		const share = (name: string): number => picks.filter((picked) => picked === name).length / picks.length;
		expect(share('c')).toBe(0);
		expect(share('b')).toBeCloseTo(0.75, 1);
		expect(share('a')).toBeCloseTo(0.25, 1);
	});

	it.each(balancingPolicies)(
		'%s gives nothing to an instance of weight 0, with or without a key, while others have more',
		(policy) => {
			const instances = [instance('a', { weight: 0, status: 'warning' }), instance('b'), instance('c', { weight: 2 })];
			const picker = createPicker(policy, snapshot(instances), { random: seeded(3) });
			const picked = Array.from(
				{ length: 200 },
				(_, turn) => picker.pick(turn % 2 === 0 ? {} : { key: `k${turn}` })?.instance,
			);
			expect(new Set(picked)).toEqual(new Set(['b', 'c']));
		},
	);

	it.each(balancingPolicies)(
		'%s picks from all instances in a panic, and from the healthy ones otherwise',
		(policy) => {
			const instances = [
				instance('a', { status: 'critical' }),
				instance('b'),
				instance('c', { status: 'maintenance' }),
			];
			const names = (members: Partial<ServiceSnapshot>) => {
				const picker = createPicker(policy, snapshot(instances, members), { random: seeded(5) });
				return new Set(Array.from({ length: 100 }, () => picker.pick()?.instance));
			};
			expect(names({ panic: true })).toEqual(new Set(['a', 'b', 'c']));
			expect(names({})).toEqual(new Set(['b']));
		},
	);

	it('treats all as equal when every weight is 0', () => {
		const picker = createPicker('weighted', snapshot([instance('a', { weight: 0 }), instance('b', { weight: 0 })]), {
			random: seeded(7),
		});
		expect(new Set(Array.from({ length: 100 }, () => picker.pick()?.instance))).toEqual(new Set(['a', 'b']));
	});
});

describe('an instance without a port, of a source that does not leave it out', () => {
	it('gets no work under any policy, in a panic either, and explain and the error give the reason', () => {
		const mixed = snapshot([instance('a', { port: 0 }), instance('b')]);
		for (const more of [{}, { panic: true as const }]) {
			for (const policy of balancingPolicies) {
				const picker = createPicker(policy, { ...mixed, ...more }, { random: seeded(7) });
				expect(new Set(Array.from({ length: 50 }, () => picker.pick()?.instance))).toEqual(new Set(['b']));
			}
		}
		expect(explain(mixed, inspectionOf(mixed)).instances[0]).toMatchObject({
			included: false,
			reason: 'all its checks pass; it has no port',
		});
		expect(noInstanceError(snapshot([instance('a', { port: 0 })]))).toMatchObject({
			code: 'NO_HEALTHY_INSTANCE',
			message: expect.stringContaining('none of the 1 instances of'),
		});
	});
});

describe('answers', () => {
	it('are marked stale, with their age, only when they are not live', () => {
		const chosen = instance('n/a', { host: '1.2.3.4', port: 8765 });
		expect(toAddress(chosen, snapshot([]))).toEqual({ host: '1.2.3.4', port: 8765, instance: 'n/a' });
		expect(toAddress(chosen, snapshot([], { source: 'static' }))).not.toHaveProperty('stale');
		expect(toAddress(chosen, snapshot([], { source: 'last-known-good', ageMs: 50 }))).toMatchObject({
			stale: true,
			ageMs: 50,
		});
	});

	it('explain for every instance whether it gets work, and why', () => {
		const instances = [instance('a', { status: 'warning' }), instance('b', { status: 'maintenance' })];
		expect(explain({ service: 'barista' }, inspectionOf(snapshot(instances, { revision: 7 })))).toMatchObject({
			service: 'barista',
			revision: 7,
			instances: [
				{ instance: 'a', included: true, reason: 'a check warns: it still gets work' },
				{ instance: 'b', included: false, reason: 'it is in maintenance' },
			],
		});
	});

	it('explain names the check that decides, and what a panic and a weight of 0 make of it', () => {
		const check = (status: string, name = status) => ({ id: `id-${name}`, name, status });
		const instances = [
			instance('a'),
			instance('b', { status: 'warning', weight: 0 }),
			instance('c', { status: 'critical' }),
			instance('d', { status: 'warning' }),
			instance('e', { weight: 0 }),
		];
		const facts = new Map([
			['b', { changedAt: 5, checks: [check('warning', 'disk')] }],
			['c', { changedAt: 6, checks: [check('critical', ''), check('warning')] }],
			['d', { changedAt: null, checks: [check('warning', 'load')] }],
		]);
		const inspection = { ...inspectionOf(snapshot(instances)), instances: facts };
		const query = { service: 'barista', tags: ['v1'] };
		expect(explain(query, inspection)).toMatchObject({
			service: 'barista',
			tags: ['v1'],
			panic: false,
			instances: [
				{ included: true, reason: 'all its checks pass', changedAt: null, checks: [] },
				{ included: false, reason: 'the check "disk" warns; its weight is 0, and others have more', changedAt: 5 },
				{
					included: false,
					reason: 'the check "id-" is critical',
					checks: [{ status: 'critical' }, { status: 'warning' }],
				},
				{ included: true, reason: 'the check "load" warns: it still gets work' },
				{ included: false, reason: 'all its checks pass; its weight is 0, and others have more' },
			],
		});
		const panicking = { ...inspection, snapshot: snapshot(instances, { panic: true }) };
		expect(explain(query, panicking)).toMatchObject({ panic: true });
		expect(explain(query, panicking).instances[0]).toMatchObject({ included: true, reason: 'all its checks pass' });
		expect(explain(query, panicking).instances[2]).toMatchObject({
			included: true,
			reason: 'the check "id-" is critical; served anyway, because too few are healthy (panic)',
		});
	});

	it('explain says how old the answer is, and leaves who watches to the caller', () => {
		const stale = inspectionOf(snapshot([], { source: 'last-known-good', ageMs: 50, verifiedAt: 7 }));
		expect(explain({ service: 'barista' }, stale)).toMatchObject({
			state: 'stale',
			source: 'last-known-good',
			ageMs: 50,
			verifiedAt: 7,
			watchers: [],
			watcherCount: 0,
		});
		expect(explain({ service: 'barista' }, inspectionOf(snapshot([]))).state).toBe('fresh');
	});

	it('explain names the refused instances, with their whole number, only where there are any', () => {
		const inspection = inspectionOf(snapshot([]));
		const refused = ['a', 'b'].map((name) => ({ instance: name, reason: 'has no host' }));
		const reply = explain({ service: 'barista' }, { ...inspection, refused });
		expect(reply).toMatchObject({ refused, refusedCount: 2 });
		expect(explain({ service: 'barista' }, { ...inspection, refused, refusedCount: 9 }).refusedCount).toBe(9);
		for (const none of [inspection, { ...inspection, refused: [] }]) {
			expect(explain({ service: 'barista' }, none)).not.toHaveProperty('refused');
			expect(explain({ service: 'barista' }, none)).not.toHaveProperty('refusedCount');
		}
	});

	it('explain says why there is nothing to serve', () => {
		const nothing = { ...inspectionOf(snapshot([])), snapshot: undefined, state: 'cold' as const, error: 'refused' };
		expect(explain({ service: 'barista' }, nothing)).toMatchObject({
			state: 'cold',
			source: null,
			error: 'refused',
			verifiedAt: 0,
			instances: [],
		});
	});

	it('say whether a service is unknown or unhealthy', () => {
		expect(noInstanceError(snapshot([], { tags: ['v2'], datacenter: 'dc2' }))).toMatchObject({
			code: 'NO_SUCH_SERVICE',
			retryable: false,
			message: 'no instance of "barista" with the tags v2 is registered in datacenter "dc2"',
			details: { service: 'barista', tags: ['v2'], datacenter: 'dc2' },
		});
		const unhealthy = ['critical', 'critical', 'maintenance'].map((status, index) =>
			instance(`${index}`, { status: status as InstanceStatus }),
		);
		expect(noInstanceError(snapshot(unhealthy, { source: 'last-known-good', ageMs: 1500.4 }))).toMatchObject({
			code: 'NO_HEALTHY_INSTANCE',
			retryable: true,
			message: 'no instance of "barista" is healthy: 2 critical, 1 maintenance (as of 1500 ms ago)',
			details: { statuses: { critical: 2, maintenance: 1 } },
		});
	});
});
