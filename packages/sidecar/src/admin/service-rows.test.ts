import type { Inspection, ServiceQuery, WatchStatus } from '@spock/protocol';
import { expect, it } from 'vitest';

import { ServiceRows } from './status-rows.ts';

const AT = 1_800_000_000_000;

function watch(service: string, members: Partial<WatchStatus> = {}): WatchStatus {
	const rest = { state: 'fresh', revision: 1, instances: 2, healthyInstances: 1, readers: 1, ageMs: 0, error: null };
	return { service, ...rest, ...members } as WatchStatus;
}

const INSTANCES = [
	{ host: '10.0.0.1', port: 80, tags: ['v1'], zone: 'z', status: 'passing' },
	{ host: '::1', port: 80, tags: ['v1'], zone: null, status: 'critical' },
];

function createRows() {
	const asked: string[] = [];
	const rows = new ServiceRows((query: ServiceQuery) => {
		asked.push(query.service);
		return { changedAt: AT - 5000, snapshot: { instances: INSTANCES } } as unknown as Inspection;
	});
	return { rows, asked, texts: () => [...rows.rows.values()].map(({ text }) => text) };
}

it('services are in the order of their names, each under its key', () => {
	const { rows } = createRows();
	rows.sample([watch('b'), watch('a', { tags: ['v1'] }), watch('a')], AT, null);
	expect([...rows.rows.values()].map(({ view }) => [view.service, view.tags])).toEqual([
		['a', ['v1']],
		['a', undefined],
		['b', undefined],
	]);
	const [key, row] = [...rows.rows][0] ?? [];
	expect(row?.view).toEqual({
		...{ key, label: '[v1]', service: 'a', tags: ['v1'], state: 'fresh', revision: 1, readers: 1, error: null },
		...{ instances: 2, healthy: 1, changedAt: AT - 5000, staleSince: null, problem: 'some-unhealthy' },
		found: { addresses: ['10.0.0.1:80', '[::1]:80'], tags: ['v1'], zones: ['z'], statuses: ['passing', 'critical'] },
	});
});

it('a row that says the same is the same text, and costs no question', () => {
	const { rows, asked, texts } = createRows();
	rows.sample([watch('a'), watch('b')], AT, null);
	const [before] = texts();
	rows.sample([watch('a'), watch('b', { revision: 2 })], AT + 1000, null);
	expect(Object.is(texts()[0], before)).toBe(true);
	expect(asked).toEqual(['a', 'b', 'b']);
	rows.sample([watch('b', { revision: 2 })], AT + 2000, null);
	expect([...rows.rows.keys()]).toEqual(['b']);
});

it('an outage is told once: since when, and not again with every second of its age', () => {
	const { rows, texts } = createRows();
	rows.sample([watch('a', { state: 'stale', ageMs: 3000 })], AT, null);
	const before = texts();
	expect(rows.rows.get('a')?.view.staleSince).toBe(AT - 3000);
	rows.sample([watch('a', { state: 'stale', ageMs: 4003.7 })], AT + 1001, null);
	expect(texts()).toEqual(before);
	rows.sample([watch('a')], AT + 2000, null);
	expect(rows.rows.get('a')?.view.staleSince).toBeNull();
});

it('an error that is shown for all is in no row, which is made again when that changes', () => {
	const { rows } = createRows();
	const view = () => rows.rows.get('a')?.view;
	const stale = watch('a', { state: 'stale', ageMs: 3000, error: 'refused', healthyInstances: 2 });
	rows.sample([stale], AT, null);
	expect(view()).toMatchObject({ error: 'refused', problem: 'failing' });
	rows.sample([stale], AT, { registries: [{ name: 'consul', since: AT }], errors: ['refused'], effect: '' });
	expect(view()).toMatchObject({ error: null, problem: null });
});
