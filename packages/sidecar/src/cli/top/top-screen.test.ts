import { describe, expect, it } from 'vitest';

import type { ConnectionView, ServiceDetail, ServiceView, StatusView } from '../../admin/status-view.ts';
import { drawTop, printTop, type ScreenInput } from './top-screen.ts';
import { FIRST_STATE, type TopState } from './top-state.ts';

const NOW = 1_800_000_000_000;

const service = (name: string, healthy: number, more: Partial<ServiceView> = {}): ServiceView => ({
	...{ service: name, key: name, label: '', state: 'fresh', instances: 3, healthy, readers: 1, revision: 7 },
	...{
		changedAt: NOW - 65_000,
		staleSince: null,
		error: null,
		problem: healthy === 0 ? 'none-healthy' : healthy < 3 ? 'some-unhealthy' : null,
	},
	found: { addresses: [], tags: [], zones: [], statuses: [] },
	...more,
});

const connection = (id: number, requests: number | null): ConnectionView => ({
	...{ id, client: `app-${id}`, library: null, pid: 100 + id, openedAt: NOW - 5000, inFlight: 0, outputBytes: 0 },
	...{ transport: 'unix', address: null, certificate: null, registered: [], registeredCount: 0, problems: [] },
	...{ subscriptions: id, services: id, keys: 0, subscriptionsRevision: id },
	...{ requests: 10, rates: requests === null ? null : { requests, bytesRead: 2500, bytesWritten: 0 } },
});

const view: StatusView = {
	overview: {
		...{ at: NOW, sidecar: '@spock/sidecar/0.1.0', instance: 'i', host: 'h', pid: 7, startedAt: NOW - 7_200_000 },
		...{ phase: 'serving', ready: true, reasons: [], services: 3, connections: 2, subscriptions: 4, keys: 0 },
		backend: { name: 'consul', state: 'up', addresses: [], error: null, lastSuccessAgeMs: 200 },
		failure: null,
		...{
			registrations: 0,
			hasEvents: false,
			recordsPerSecond: null,
			inFlight: 1,
			rates: { requests: 1234, bytesRead: 10, bytesWritten: 2_000_000 },
		},
		latency: { boundsMs: [0.01, 0.1, 1000], total: [9, 9, 9, 9], recent: [90, 9, 0, 1], recentMs: 60_000 },
	},
	services: [service('barista', 3), service('till', 0), service('cellar', 2, { state: 'stale', staleSince: NOW - 90 })],
	connections: { count: 2, problems: 0, grpc: 0, rows: [connection(1, 3), connection(2, 55)] },
	events: null,
	registrations: [],
	keys: [],
	changes: [
		{
			...{ kind: 'instances', id: 1, sequence: 1, at: NOW - 1000, source: 'live', sourceBefore: 'live' },
			...{ key: 'till', service: 'till', revision: 8, counts: { came: 1, went: 0, changed: 0 } },
			instances: [{ what: 'came', instance: 'a', address: '10.0.0.1:80', status: 'passing', fields: [] }],
		},
		{
			...{ kind: 'source', id: 2, sequence: 2, at: NOW, source: 'last-known-good', sourceBefore: 'live' },
			...{ count: 12, services: ['barista', 'till'] },
		},
	],
};

const draw = (state: Partial<TopState> = {}, more: Partial<ScreenInput> = {}) =>
	drawTop({
		...{ view, detail: undefined, width: 80, height: 24, isColoured: false, trouble: undefined, ...more },
		state: { ...FIRST_STATE, ...state },
	});

const plain = (lines: readonly string[]): string[] => lines.map((line) => line.replace(/\u001b\[[0-9;]*m/g, ''));
const rows = (lines: readonly string[]): string[] =>
	plain(lines)
		.slice(6, -1)
		.map((line) => line.trim())
		.filter((line) => line !== '');

describe('the screen of top', () => {
	it.each([
		[80, 24],
		[40, 10],
		[200, 60],
		[20, 7],
		[10, 3],
	])('is never more than %i times %i', (width, height) => {
		for (const tab of ['services', 'connections', 'changes'] as const) {
			const { lines } = draw({ tab }, { width, height });
			expect(lines).toHaveLength(height);
			for (const line of plain(lines)) expect([...line].length).toBeLessThanOrEqual(width);
		}
	});

	it('says who it is, what it does, how quick it is, and what is wrong', () => {
		expect(plain(draw().lines).slice(0, 5)).toEqual([
			'@spock/sidecar/0.1.0  pid 7  up 2h  serving, ready  consul up',
			'req/s 1.2k  in B/s 10  out B/s 2.0M  waiting 1  conns 2  subs 4  keys 0  regs 0',
			'latency last 1m  10µs █▁·▁ >1s  p50 ≤10µs  p99 ≤100µs',
			'',
			expect.stringMatching(/^ services 3 {3}connections 2 {3}changes 2 {2}by health/),
		]);
		expect(
			plain(draw({}, { trouble: 'no sidecar' }).lines)
				.at(-1)
				?.trim(),
		).toBe('no sidecar');
	});

	it('names a registration that the registry does not know, with its reason', () => {
		const registration = { service: 'till', instance: null, state: 'pending', error: 'refused', holders: 1 } as const;
		const registrations = [{ ...registration, phase: 'held', status: 'passing' }] as const;
		expect(plain(draw({}, { view: { ...view, registrations } }).lines)[3]?.trim()).toBe(
			'not registered yet: till: refused',
		);
	});

	it('has each service with its health, its readers and its age, in the order that was chosen', () => {
		expect(rows(draw().lines)).toEqual([
			expect.stringMatching(/^till +fresh +0\/3/),
			expect.stringMatching(/^cellar +stale +2\/3 +1 +7 +1m +90ms$/),
			expect.stringMatching(/^barista +fresh +3\/3 +1 +7 +1m +-$/),
		]);
		const orders = { ...FIRST_STATE.orders, services: 1 };
		expect(rows(draw({ orders }).lines).map((line) => line.split(' ')[0])).toEqual(['barista', 'cellar', 'till']);
		expect(rows(draw({ filter: 'TIL' }).lines)).toHaveLength(1);
		expect(rows(draw({ filter: 'nobody' }).lines)).toEqual(['nothing matches "nobody"; esc shows all']);
	});

	it('has connections by their rates, and changes, the newest first', () => {
		expect(rows(draw({ tab: 'connections' }).lines)).toEqual([
			expect.stringMatching(/^2 app-2 +102 +5s +2 +55 +2\.5k +0 +0 +0$/),
			expect.stringMatching(/^1 app-1/),
		]);
		expect(rows(draw({ tab: 'changes' }).lines)).toEqual([
			'08:00:00 12 services          live → last-known-good: barista, till, …',
			'07:59:59 till                 +1 -0 ~0  +10.0.0.1:80',
		]);
	});

	it('opens a service: its instances, why one gets no work, and who watches', () => {
		const detail = {
			...{ error: null, watcherCount: 1, watchers: [{ connection: 1, client: 'app', pid: 4711 }] },
			instances: [
				{
					...{ instance: 'a', host: '10.0.0.1', port: 80, weight: 3, status: 'passing' },
					included: true,
					changedAt: NOW,
				},
				{ ...{ instance: 'b', host: '::1', port: 81, weight: 1, status: 'critical' }, included: false, reason: 'ill' },
			],
		} as unknown as ServiceDetail;
		const { lines } = draw({ detail: 'till' }, { detail });
		expect(plain(lines)[4]?.trim()).toBe('till  watched by 1: app 4711');
		expect(rows(lines)).toEqual([
			expect.stringMatching(/^a +10\.0\.0\.1:80 +passing +3 yes +0ms$/),
			expect.stringMatching(/^b – ill +\[::1\]:81 +critical +1 no/),
		]);
		expect(rows(draw({ detail: 'till' }).lines)).toEqual(['asking …']);
	});

	it('has no colour where none is wanted, and nothing that a registry calls itself moves the cursor', () => {
		const evil = { ...view, services: [service('a\u001b[2J\u009bb', 3)] };
		expect(draw({}, { view: evil }).lines.join('')).not.toMatch(/\u001b\[(?:3\d|2J)/);
		expect(rows(draw({}, { view: evil }).lines)[0]).toContain('a\\u001b[2J\\u009bb ');
		expect(draw({ selected: 0 }, { isColoured: true }).lines.join('')).toContain('\u001b[32mbarista');
	});

	it('says of a filter that it matches nothing, and how it ends', () => {
		const { lines } = draw({ filter: 'zzz' });
		expect(lines.join('\n')).toContain('nothing matches "zzz"; esc shows all');
		expect(draw({ filter: 'zzz' }, { view: { ...view, services: [] } }).lines.join('\n')).toContain(
			'no service is watched',
		);
	});

	it('explains its keys, however small the screen is', () => {
		const { lines } = draw({ isHelp: true });
		expect(lines.join('\n')).toContain('filters by text in any column');
		expect(lines.join('\n')).not.toContain('barista');
		for (const height of [3, 7, 12, 60]) {
			const { lines: shown } = draw({ isHelp: true }, { height, width: 40 });
			expect(shown).toHaveLength(height);
			for (const line of plain(shown)) expect([...line].length).toBeLessThanOrEqual(40);
		}
	});

	it('in an outage it shows what apps get and the error once, and the worst service first', () => {
		const backend = { ...view.overview.backend, state: 'down', error: 'refused', lastSuccessAgeMs: 227_000 } as const;
		const registries = [{ name: 'consul', since: NOW - 227_000 }];
		const failure = { registries, errors: ['refused'], effect: 'apps get the last known answers' };
		const stale = { state: 'stale', staleSince: NOW - 227_000 } as const;
		const services = ['a', 'b', 'c'].map((name) => service(name, 3, stale));
		const overview = { ...view.overview, backend, failure, reasons: ['not yet: refused'] };
		const outage = { ...view, overview, services: [...services, service('z', 0, stale)] };
		const { lines } = draw({}, { view: outage, width: 120 });
		expect(lines[0]).toContain('consul down, last answer 3m 47s ago');
		expect(lines.join('\n')).toContain(
			'consul has not answered since 07:56:13: apps get the last known answers; refused\n',
		);
		expect(lines.join('\n').split('refused')).toHaveLength(2);
		expect(rows(lines).map((line) => line.split(' ')[0])).toEqual(['z', 'a', 'b', 'c']);
	});

	it('keeps the selected row on the screen', () => {
		const services = Array.from({ length: 100 }, (_, index) => service(`svc-${String(index).padStart(3, '0')}`, 3));
		const many = { ...view, services };
		for (const selected of [0, 40, 99, 500]) {
			const { lines, shown } = draw({ selected }, { view: many });
			const name = `svc-${String(Math.min(99, selected)).padStart(3, '0')}`;
			expect(lines.find((line) => line.includes(name))).toContain('\u001b[7m');
			expect(shown).toEqual({ rows: 100, page: 17, key: name });
		}
	});

	it('has a line of events where they are on: what is written, how full the log is, who is furthest behind', () => {
		const group = { order: 'none', consumers: 1, position: 1, out: 0, backingOff: 0, oldestUnackedMs: null } as const;
		const events: StatusView['events'] = {
			...{ state: 'receiving', reason: null, directory: '/log', bytes: 25, bytesMax: 100, next: 9, producers: 1 },
			...{ unstored: 3, oldestUnstoredMs: 40, windowBytes: 1, damaged: 0, idsForgotten: 0, streams: [] },
			groups: [
				{ ...group, stream: 'orders', group: 'audit', lag: 7 },
				{ ...group, stream: 'orders', group: 'billing', lag: 1200 },
			],
		};
		const on = { ...view, overview: { ...view.overview, recordsPerSecond: 1500 }, events };
		const line = 'events receiving  records/s 1.5k  log 25%  unstored 3 for 40 ms  lag 1.2k (billing of orders)';
		const { lines } = draw({}, { view: on, width: 100 });
		expect(plain(lines)[4]).toBe(line);
		expect(lines).toHaveLength(24);
		expect(printTop(on, FIRST_STATE)).toContain(`\n${line}\n\nservices\n`);
		const full = { ...on, events: { ...events, state: 'blocked', reason: 'the log is full', groups: [] } };
		const [, , , , blocked] = draw({}, { view: full, width: 100, isColoured: true }).lines;
		expect(blocked).toContain('\u001b[31mevents blocked');
		expect(blocked).toContain('lag 0  the log is full');
		expect(draw({ tab: 'services' }).lines.join('\n')).not.toContain('records/s');
	});

	it('printed once it is every row, and nothing of a terminal', () => {
		const text = printTop(view, FIRST_STATE);
		expect(text).not.toContain('\u001b');
		expect(text).toMatch(/\n\nservices\nSERVICE.*\ntill.*\ncellar.*\nbarista.*\n\nconnections\n/s);
	});
});
