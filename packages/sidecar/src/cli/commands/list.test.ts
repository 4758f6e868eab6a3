import { expect, it } from 'vitest';

import { PLAIN } from '../output/page.ts';
import { formatList, type Health, withGone } from './list.ts';

const services = [
	{ name: 'barista', tags: [] },
	{ name: 'employee', tags: ['v1', 'v2'] },
	{ name: 'till', tags: [] },
	{ name: 'waiter', tags: [] },
];
const healths = new Map<string, Health>([
	['barista', { healthy: 2, instances: 2 }],
	['employee', { healthy: 1, instances: 2 }],
	['till', { healthy: 0, instances: 3 }],
]);

it('is a table with the health that is known, in the order given', () => {
	expect(formatList(services, healths, PLAIN).toString().split('\n')).toEqual([
		'SERVICE   HEALTHY  TAGS',
		'barista   2/2',
		'employee  1/2      v1,v2',
		'till      0/3',
		'waiter',
	]);
});

it('has the worst first where each was looked up, with the reason of a lookup that failed', () => {
	const all = new Map(healths).set('waiter', { error: 'ACL_DENIED: no' });
	expect(formatList(services, all, PLAIN, true).toString().split('\n')).toEqual([
		'SERVICE   HEALTHY  TAGS   ERROR',
		'till      0/3',
		'waiter                    ACL_DENIED: no',
		'employee  1/2      v1,v2',
		'barista   2/2',
	]);
});

it('begins with the watched services that the registry does not list any more', () => {
	const watch = (service: string, readers: number, instances = 0) => ({ service, readers, instances });
	const watches = [watch('barista', 1, 2), watch('gone', 1), watch('held', 0, 2), watch('looked-up-once', 0)];
	const all = withGone(services, watches);
	expect(all.map(({ name }) => name)).toEqual(['gone', 'held', 'barista', 'employee', 'till', 'waiter']);
	const looked = new Map(healths).set('gone', { healthy: 0, instances: 0 }).set('held', { healthy: 2, instances: 2 });
	expect(formatList(all, looked, PLAIN, true).toString().split('\n').slice(0, 4)).toEqual([
		'SERVICE   HEALTHY  TAGS',
		'gone      0/0',
		'till      0/3',
		'employee  1/2      v1,v2',
	]);
});
