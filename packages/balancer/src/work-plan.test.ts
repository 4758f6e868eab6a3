import type { ServiceInstance, ServiceSnapshot } from '@spock/protocol';
import { fakeInstance as instance } from '@spock/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { createPicker, plannedPicker } from './pickers.ts';
import { balancingPolicies, countsWeights } from './policies.ts';
import { explainPlan, planWork, type WorkRules } from './work-plan.ts';

function snapshot(instances: readonly ServiceInstance[], members: Partial<ServiceSnapshot> = {}): ServiceSnapshot {
	return { service: 'barista', revision: 1, instances, source: 'live', ageMs: 0, verifiedAt: 1, ...members };
}

/** Uniform enough for shares, and the same in every run (Numerical Recipes' LCG). */
function seeded(seed: number): () => number {
	let state = seed >>> 0;
	return () => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return state / 2 ** 32;
	};
}

/** So many instances of each zone, sorted by name; a zone named `-` is none. */
function inZones(counts: Readonly<Record<string, number>>): ServiceInstance[] {
	return Object.entries(counts).flatMap(([zone, count]) =>
		Array.from({ length: count }, (_, index) => instance(`${zone}/${index}`, { zone: zone === '-' ? null : zone })),
	);
}

/** The part of the work of each zone, by the plan. */
function workOf(instances: readonly ServiceInstance[], rules: WorkRules, serving = instances): Record<string, number> {
	const { zones = [] } = planWork('round-robin', serving, instances, rules);
	return Object.fromEntries(zones.map(({ zone, work }) => [zone ?? '-', Number(work.toFixed(4))]));
}

const PICKS = 100_000;

describe('zones', () => {
	it('the local zone gets all the work while its part of the weight covers its part of the callers', () => {
		expect(workOf(inZones({ a: 3, b: 3, c: 3 }), { zone: 'a' })).toEqual({ a: 1, b: 0, c: 0 });
		expect(workOf(inZones({ a: 9, b: 1, c: 1 }), { zone: 'a' })).toEqual({ a: 1, b: 0, c: 0 });
	});

	it('the rest spills over to the zones that have more weight than callers, in proportion to that', () => {
		// a has 2 of 12 for a third of the callers: half stays. b has 4/12 and c 6/12: only c has more than its third.
		expect(workOf(inZones({ a: 2, b: 4, c: 6 }), { zone: 'a' })).toEqual({ a: 0.5, b: 0, c: 0.5 });
		expect(workOf(inZones({ a: 0, b: 3, c: 6 }), { zone: 'a' })).toEqual({ a: 0, b: 0, c: 1 });
		expect(workOf(inZones({ a: 2, b: 5, c: 5 }), { zone: 'a' })).toEqual({ a: 0.5, b: 0.25, c: 0.25 });
	});

	it('callers of each zone may be given, in any unit; a zone that is not among them has none', () => {
		const instances = inZones({ a: 3, b: 3, c: 3 });
		const callers = new Map([
			['a', 40],
			['b', 40],
		]);
		expect(workOf(instances, { zone: 'a', callers })).toEqual({ a: 0.6667, b: 0, c: 0.3333 });
		expect(workOf(instances, { zone: 'c', callers })).toEqual({ c: 1, a: 0, b: 0 });
		// A caller that is not among them, without instances of its own: nothing is spare, so by weight.
		const even = new Map([...'abc'].map((zone) => [zone, 1]));
		expect(workOf(instances, { zone: 'd', callers: even })).toEqual({ d: 0, a: 0.3333, b: 0.3333, c: 0.3333 });
	});

	it('what is out for now weighs nothing, and its zone still has callers', () => {
		const all = inZones({ a: 4, b: 4, c: 4 });
		const without = (zone: string, left: number): ServiceInstance[] =>
			all.filter(({ instance: name, zone: own }) => own !== zone || Number(name.slice(2)) < left);
		expect(workOf(all, { zone: 'a' }, without('a', 0))).toEqual({ a: 0, b: 0.5, c: 0.5 });
		expect(workOf(all, { zone: 'a' }, without('a', 2))).toEqual({ a: 0.6, b: 0.2, c: 0.2 });
		expect(workOf(all, { zone: 'b' }, without('a', 0))).toEqual({ b: 1, a: 0, c: 0 });
	});

	it('instances without a zone are local to none, and take what spills over', () => {
		expect(workOf(inZones({ a: 2, '-': 2 }), { zone: 'a' })).toEqual({ a: 0.5, '-': 0.5 });
		expect(workOf(inZones({ '-': 3 }), { zone: 'a' })).toEqual({ a: 0, '-': 1 });
	});

	it('an instance counts by its weight under the policies that follow weights', () => {
		const instances = [
			instance('a', { zone: 'a', weight: 1 }),
			instance('b', { zone: 'b', weight: 1 }),
			instance('c', { zone: 'c', weight: 4 }),
		];
		const local = (policy: (typeof balancingPolicies)[number]): number | undefined =>
			planWork(policy, instances, instances, { zone: 'a' }).zones?.[0]?.work;
		for (const policy of balancingPolicies) expect(local(policy)).toBeCloseTo(countsWeights(policy) ? 0.5 : 1, 9);
	});

	const anyZone = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', 'toString', '', null);
	const anyInstances = fc
		.array(
			fc.record({
				zone: anyZone,
				weight: fc.constantFrom(1, 1, 2, 5, 10),
				status: fc.constantFrom('passing', 'critical'),
			}),
			{
				minLength: 1,
				maxLength: 24,
			},
		)
		.map((members) => members.map((one, index) => instance(`node/${index}`, one as Partial<ServiceInstance>)));
	const anyCallers = fc.option(
		fc
			.array(fc.tuple(fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor'), fc.integer({ min: 1, max: 9 })), {
				minLength: 1,
			})
			.map((pairs) => new Map(pairs)),
		{ nil: undefined },
	);

	it('any zones, weights and callers: when all callers follow their plans, each instance has work by its weight', () => {
		fc.assert(
			fc.property(anyInstances, anyCallers, (instances, given) => {
				const serving = instances.filter(({ status }) => status === 'passing');
				fc.pre(serving.length > 0);
				const zones = [...new Set(instances.flatMap(({ zone }) => (zone === null ? [] : [zone])))];
				const callers = given ?? new Map(zones.map((zone) => [zone, 1]));
				const sum = [...callers.values()].reduce((left, right) => left + right, 0);
				const load = new Map<string | null, number>();
				for (const [zone, count] of callers) {
					const plan = planWork('weighted', serving, instances, { zone, callers });
					expect(plan.groups.reduce((total, { share }) => total + share, 0)).toBeCloseTo(1, 9);
					for (const { zone: to, work } of plan.zones ?? []) load.set(to, (load.get(to) ?? 0) + (work * count) / sum);
				}
				if (callers.size === 0) return;
				const whole = serving.reduce((total, { weight }) => total + weight, 0);
				for (const [zone, work] of load) {
					const weight = serving.reduce((total, one) => total + (one.zone === zone ? one.weight : 0), 0) / whole;
					expect(work).toBeCloseTo(weight, 9);
				}
			}),
		);
	});

	it('any zones, weights, statuses and callers: 100,000 picks are within 1 % of the plan, under every policy', () => {
		fc.assert(
			fc.property(
				anyInstances,
				anyCallers,
				fc.constantFrom('a', 'b', 'z', '__proto__', 'constructor'),
				fc.constantFrom(...balancingPolicies),
				fc.nat(),
				(instances, callers, zone, policy, seed) => {
					const serving = instances.filter(({ status }) => status === 'passing');
					const plan = planWork(policy, serving, instances, { zone, callers });
					const picker = plannedPicker(policy, plan, { random: seeded(seed) });
					if (serving.length === 0) {
						expect(picker.pick()).toBeUndefined();
						return;
					}
					const counts = new Map<string | null, number>();
					for (let turn = 0; turn < PICKS; turn++) {
						const { zone: to } = picker.pick() as ServiceInstance;
						counts.set(to, (counts.get(to) ?? 0) + 1);
					}
					for (const { zone: to, work } of plan.zones ?? []) {
						expect(Math.abs((counts.get(to) ?? 0) / PICKS - work)).toBeLessThan(0.01);
					}
				},
			),
			{ numRuns: 40 },
		);
	});

	it('half of a few picks is never missed by more than one, wherever they start', () => {
		const half = planWork('round-robin', inZones({ a: 1, b: 3 }), inZones({ a: 1, b: 3 }), { zone: 'a' });
		const STARTS = 2000;
		let missed = 0;
		for (let start = 0; start < STARTS; start++) {
			const picker = plannedPicker('round-robin', half, { random: () => start / STARTS });
			let local = 0;
			for (let picks = 1; picks <= 24; picks++) {
				if (picker.pick()?.zone === 'a') local++;
				if (picks % 2 === 0) missed = Math.max(missed, Math.abs(local - picks / 2));
			}
		}
		expect(missed).toBe(1);
	});

	it('inside of a zone the policy decides: each instance of it has its part', () => {
		const instances = inZones({ a: 2, b: 4, c: 6 });
		for (const policy of ['round-robin', 'random', 'weighted'] as const) {
			const picker = createPicker(policy, snapshot(instances), { rules: { zone: 'a' }, random: seeded(4) });
			const counts = new Map<string, number>();
			for (let turn = 0; turn < PICKS; turn++) {
				const name = picker.pick()?.instance ?? '';
				counts.set(name, (counts.get(name) ?? 0) + 1);
			}
			expect([...counts.keys()].sort()).toEqual(['a/0', 'a/1', 'c/0', 'c/1', 'c/2', 'c/3', 'c/4', 'c/5']);
			for (const [name, count] of counts) {
				expect(Math.abs(count / PICKS - (name.startsWith('a') ? 0.25 : 0.5 / 6))).toBeLessThan(0.01);
			}
		}
	});

	it('a key goes to the same instance from every zone and out of every subset', () => {
		const instances = inZones({ a: 4, b: 4, c: 4 });
		for (const policy of balancingPolicies) {
			const everywhere = [
				{},
				{ zone: 'a' },
				{ zone: 'b' },
				{ zone: 'd' },
				{ zone: 'a', subset: 2, subsetKey: 'x' },
			].map((rules) => createPicker(policy, snapshot(instances), { rules }));
			for (let user = 0; user < 50; user++) {
				const key = `user-${user}`;
				expect(new Set(everywhere.map((picker) => picker.pick({ key })?.instance)).size).toBe(1);
			}
		}
	});

	it('do not matter in a panic', () => {
		const instances = inZones({ a: 2, b: 2 }).map((one) => ({ ...one, status: 'critical' as const }));
		const picker = createPicker('round-robin', snapshot(instances, { panic: true }), { rules: { zone: 'a' } });
		expect(new Set(Array.from({ length: 8 }, () => picker.pick()?.zone))).toEqual(new Set(['a', 'b']));
	});
});

describe('an explanation of a plan', () => {
	it('says of each instance whether it is local, spilled or out, and why', () => {
		const instances = inZones({ a: 2, b: 4, c: 6 });
		const why = explainPlan(planWork('round-robin', instances, instances, { zone: 'a' }));
		const [local, full, spilled] = [0, 2, 6].map((index) => why?.(instances[index] as ServiceInstance));
		expect(local).toEqual({ included: true, reason: 'local: in zone "a", which gets 50 % of the work' });
		expect(full).toEqual({
			included: false,
			reason: 'out: in zone "b", and it has no weight to spare',
		});
		expect(spilled).toEqual({ included: true, reason: 'spilled: in zone "c", which gets 50 % of the work' });
		const even = inZones({ a: 2, '-': 1, b: 2 }).slice(0, 3);
		const enough = explainPlan(planWork('round-robin', even, even, { zone: 'a', callers: new Map([['a', 1]]) }));
		expect(enough?.(even[2] as ServiceInstance).reason).toBe('spilled: without a zone, which gets 33 % of the work');
		const alone = explainPlan(planWork('round-robin', even, inZones({ a: 2, b: 2 }), { zone: 'a' }));
		expect(alone?.(even[2] as ServiceInstance)).toEqual({
			included: false,
			reason: 'out: without a zone, and the local zone "a" is enough',
		});
	});

	it('says who is in the subset, and nothing where neither zones nor a subset decide', () => {
		const instances = inZones({ a: 4 });
		const plan = planWork('round-robin', instances, instances, { subset: 1, subsetKey: 'x' });
		const reasons = instances.map((one) => explainPlan(plan)?.(one));
		expect(reasons.filter((one) => one?.included)).toEqual([
			{ included: true, reason: "in this client's subset of 1" },
		]);
		expect(reasons.filter((one) => one?.reason === "not in this client's subset of 1")).toHaveLength(3);
		expect(explainPlan(planWork('round-robin', instances, instances))).toBeUndefined();
	});
});

describe('a subset', () => {
	const names = (count: number): ServiceInstance[] =>
		Array.from({ length: count }, (_, index) => instance(`node-${index}/orders-${index}`));
	const subset = (instances: readonly ServiceInstance[], count: number, key: string): ReadonlySet<string> => {
		const { groups } = planWork('round-robin', instances, instances, { subset: count, subsetKey: key });
		return new Set(groups.flatMap((group) => group.instances.map((one) => one.instance)));
	};

	it('is the same for a client as long as its instances are there; when one leaves, one takes its place', () => {
		const before = names(100);
		const mine = subset(before, 20, 'pod-7');
		expect(mine.size).toBe(20);
		expect(subset(before, 20, 'pod-7')).toEqual(mine);
		for (const { instance: gone } of before) {
			const after = subset(
				before.filter((one) => one.instance !== gone),
				20,
				'pod-7',
			);
			const lost = [...mine].filter((name) => !after.has(name));
			expect(lost).toEqual(mine.has(gone) ? [gone] : []);
		}
		const grown = subset(names(101), 20, 'pod-7');
		expect([...mine].filter((name) => !grown.has(name)).length).toBeLessThanOrEqual(1);
	});

	it('is all there are where they are not more', () => {
		expect(subset(names(5), 20, 'x').size).toBe(5);
		expect(subset([], 20, 'x').size).toBe(0);
	});

	it.each([
		[50, 1.25],
		[100, 1.25],
		[150, 1.25],
	])('1,000 clients with 20 of %i instances each: no instance has more than %f times its part', (count, most) => {
		for (const keyOf of [(client: number) => `pod-${client}`, (client: number) => `${seeded(client)()}`]) {
			const loads = new Map(names(count).map((one) => [one.instance, 0]));
			for (let client = 0; client < 1000; client++) {
				for (const name of subset(names(count), 20, keyOf(client))) loads.set(name, (loads.get(name) ?? 0) + 1);
			}
			const even = (1000 * 20) / count;
			expect(Math.max(...loads.values()) / even).toBeLessThan(most);
		}
	});

	it('is drawn from the zones that get work, from each by its part', () => {
		const instances = inZones({ a: 20, b: 40, c: 60 });
		const { groups } = planWork('round-robin', instances, instances, { zone: 'a', subset: 20, subsetKey: 'x' });
		expect(groups.map(({ share, instances: { length } }) => [share, length])).toEqual([
			[0.5, 10],
			[0.5, 10],
		]);
		const few = planWork('round-robin', instances, instances, { zone: 'c', subset: 20, subsetKey: 'x' });
		expect(few.groups.map(({ instances: members }) => members.map(({ zone }) => zone))).toEqual([Array(20).fill('c')]);
	});
});
