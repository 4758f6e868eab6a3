import type { ServiceInstance } from '@spock/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { diffInstances, isSameList, sortInstances } from './snapshot-diff.ts';

const instances = fc.uniqueArray(
	fc.record({
		instance: fc.constantFrom('a', 'b', 'c', 'd', 'node/é'),
		host: fc.constantFrom('10.0.0.1', '10.0.0.2'),
		port: fc.constantFrom(1, 2),
		weight: fc.constantFrom(0, 1),
		status: fc.constantFrom('passing', 'warning', 'critical', 'maintenance'),
		tags: fc.array(fc.constantFrom('v1', 'v2'), { maxLength: 2 }),
		meta: fc.dictionary(fc.constantFrom('x', 'constructor', '__proto__'), fc.constantFrom('1', '2')),
		zone: fc.constantFrom(null, 'z'),
		datacenter: fc.constantFrom(null, 'dc1'),
	}),
	{ selector: ({ instance }) => instance },
) as fc.Arbitrary<ServiceInstance[]>;

const plain = (list: readonly ServiceInstance[]): string =>
	JSON.stringify(list.map((instance) => [instance, Object.entries(instance.meta).sort()]));

describe('the comparison of contents', () => {
	it('a list is the same as its copy in any order', () => {
		fc.assert(
			fc.property(instances, (list) => {
				const copy = structuredClone(list).reverse();
				expect(isSameList(sortInstances([...list]), sortInstances(copy))).toBe(true);
			}),
		);
	});

	it('says the same exactly when every member is the same, and then the difference is empty', () => {
		fc.assert(
			fc.property(instances, instances, (left, right) => {
				const before = sortInstances([...left]);
				const after = sortInstances([...right]);
				const sorted = (list: readonly ServiceInstance[]): string =>
					plain(list.map((one) => ({ ...one, meta: Object.fromEntries(Object.entries(one.meta).sort()) })));
				const isSame = sorted(before) === sorted(after);
				expect(isSameList(before, after)).toBe(isSame);
				const { added, removed, changed } = diffInstances(before, after);
				expect(added.length + removed.length + changed.length === 0).toBe(isSame);
			}),
		);
	});

	it('applying the difference to the names before gives the names after', () => {
		fc.assert(
			fc.property(instances, instances, (left, right) => {
				const { added, removed, changed } = diffInstances(sortInstances([...left]), sortInstances([...right]));
				const names = new Set(left.map(({ instance }) => instance));
				for (const name of removed) expect(names.delete(name)).toBe(true);
				for (const name of changed) expect(names.has(name)).toBe(true);
				for (const name of added) expect(names.has(name)).toBe(false);
				for (const name of added) names.add(name);
				expect([...names].sort()).toEqual(right.map(({ instance }) => instance).sort());
			}),
		);
	});
});
