import type { EventsStatus, GroupStatus, StatusReply } from '@spock/protocol';
import { expect, it } from 'vitest';

import { PLAIN } from '../output/page.ts';
import { formatStatus } from './status.ts';

const MIB = 1_048_576;
const AT = 1_800_000_000_000;

const reply = {
	...{ sidecar: 's', instance: 'i', pid: 1, uptimeMs: 1, phase: 'serving', ready: true, reasons: [] },
	...{ connections: 0, clients: [], subscriptions: 0, oversizeSubscriptions: 0, watches: [], registrations: [] },
	backend: { name: 'local', state: 'up', addresses: [], error: null, lastSuccessAgeMs: 0 },
	...{ keyWatches: [], counters: {} },
} as unknown as StatusReply;

const group = (name: string, lag: number): GroupStatus => ({
	...{ stream: 'orders', group: name, order: 'none', consumers: 0, position: 1, out: 0, backingOff: 0 },
	...{ lag, oldestUnackedMs: null },
});

const events: EventsStatus = {
	...{ state: 'blocked', reason: 'the log is full', directory: '/events', bytes: 8 * MIB, bytesMax: 16 * MIB },
	...{ next: 1, producers: 1, unstored: 0, oldestUnstoredMs: null, windowBytes: 0, damaged: 0, idsForgotten: 0 },
	...{ streams: [], groups: [group('audit', 2), group('billing\u001b[2J', 7)] },
};

it('two lines for events: the log, and the group with the most to do, whose name cannot steer the terminal', () => {
	const lines = formatStatus({ ...reply, events }, PLAIN, AT)
		.toString()
		.split('\n')
		.slice(-2);
	expect(lines).toEqual([
		'events       blocked, 8.0 of 16.0 MiB, 0 streams, 1 producer: the log is full',
		expect.stringMatching(/^ {13}2 groups; most to do: orders billing.*, lag 7$/),
	]);
	expect(lines.join('\n')).not.toContain('\u001b');
});

it('no line for events where they are off', () => {
	expect(formatStatus(reply, PLAIN, AT).toString()).not.toMatch(/events|groups/);
});

it('watches and registrations are tables; durations and counts are as people say them', () => {
	const facts = { state: 'fresh', readers: 1, revision: 4, ageMs: 0, error: null } as const;
	const watches = [
		{ ...facts, service: 'barista', instances: 3, healthyInstances: 2 },
		{ ...facts, service: 'till-of-the-shop', instances: 1, healthyInstances: 1, state: 'stale', ageMs: 227_000 },
	] as const;
	const registration = { id: 'b1', service: 'barista', instance: 'n/b1', state: 'registered', error: null } as const;
	const registrations = [{ ...registration, phase: 'held', holders: 1, status: 'passing' }] as const;
	const page = formatStatus({ ...reply, uptimeMs: 227_000, subscriptions: 1, watches, registrations }, PLAIN, AT);
	expect(page.toString().split('\n')).toEqual([
		's, pid 1, up 3m 47s, serving, ready',
		'backend      local up, last answer 0 ms ago: no address',
		'connections  0 open;',
		'watches      2, 1 subscription',
		'  NAME              STATE                        FOUND        READERS  REVISION',
		'  till-of-the-shop  stale, confirmed 3m 47s ago  1/1 healthy  1        4',
		'  barista           fresh                        2/3 healthy  1        4',
		'registered   1',
		'  SERVICE  ID  INSTANCE  REGISTRY    STATUS   APP',
		'  barista  b1  n/b1      registered  passing  connected',
	]);
});

it('of several addresses of Consul: each with its state, and which one is asked', () => {
	const up = { state: 'up', isAsked: false, lastSuccessAgeMs: 100, error: null, failingForMs: null } as const;
	const addressStatus = [
		{
			...up,
			address: 'http://a',
			state: 'down',
			error: 'refused',
			failingForMs: 5000,
			lastSuccessAgeMs: 5000,
		} as const,
		{ ...up, address: 'http://b', isAsked: true },
		{ ...up, address: 'http://c', state: 'untried', lastSuccessAgeMs: null } as const,
	];
	const backend = { ...reply.backend, addressStatus };
	const lines = formatStatus({ ...reply, backend }, PLAIN, AT)
		.toString()
		.split('\n');
	expect(lines).toEqual(
		expect.arrayContaining([
			expect.stringContaining('http://a: down for 5.0 s, last answer 5.0 s ago: refused'),
			expect.stringContaining('http://b: up, last answer 100 ms ago, asked now'),
			expect.stringContaining('http://c: not asked yet'),
		]),
	);
});

it('of a sidecar that asks others: which one, and what is wrong with the rest', () => {
	const upstream = {
		address: 'tls://b:7777',
		places: [
			{ address: 'tls://a:7777', error: 'ECONNREFUSED' },
			{ address: 'tls://b:7777', error: null },
			{ address: 'tls://c:7777', error: null },
		],
		...{ subscriptions: 3, lagMs: 12, failovers: 1, failures: {}, bytesRead: 1, bytesWritten: 1 },
	};
	const backend = { ...reply.backend, name: 'spock', addresses: ['tls://b:7777'], upstream };
	expect(
		formatStatus({ ...reply, backend }, PLAIN, AT)
			.toString()
			.split('\n')
			.slice(1, 5),
	).toEqual([
		'backend      spock up, last answer 0 ms ago: tls://b:7777',
		'upstream     asks tls://b:7777; 3 subscriptions, 1 failover, changes up to 12 ms late',
		'             tls://a:7777: ECONNREFUSED',
		'             tls://c:7777: in reserve',
	]);
	const away = { ...upstream, address: null, lagMs: null };
	const lines = formatStatus({ ...reply, backend: { ...backend, upstream: away } }, PLAIN, AT).toString();
	expect(lines).toContain('upstream     none answers; 3 subscriptions, 1 failover\n');
});

it('in an outage: what apps get, each error once, and the worst service first', () => {
	const refused = 'connect ECONNREFUSED 127.0.0.1:8500';
	const stale = { state: 'stale', readers: 1, revision: 4, ageMs: 5000, error: refused } as const;
	const watches = [
		{ ...stale, service: 'barista', instances: 3, healthyInstances: 3 },
		{ ...stale, service: 'till', instances: 3, healthyInstances: 2 },
		{ ...stale, service: 'zebra', instances: 1, healthyInstances: 0, error: 'socket hang up' },
	];
	const keyWatches = [{ key: 'limits', prefix: false, entries: 1, ...stale }];
	const registration = { id: 'b1', service: 'barista', instance: 'n/b1', state: 'pending', error: refused };
	const registrations = [{ ...registration, phase: 'held', holders: 1, status: 'passing' }];
	const backend = { name: 'consul', state: 'down', addresses: ['here'], error: refused, lastSuccessAgeMs: 5000 };
	const outage = { ...reply, backend, watches, keyWatches, registrations } as unknown as StatusReply;
	const lines = formatStatus(outage, PLAIN, AT).toString().split('\n');
	expect(lines.filter((line) => line.includes('ECONNREFUSED'))).toEqual([`             ${refused}`]);
	expect(lines).toContainEqual(
		expect.stringMatching(/^ {13}consul has not answered since \d\d:\d\d:\d\d: apps get the last known answers$/),
	);
	const names = lines.filter((line) => line.includes('stale')).map((line) => line.trim().split(/ {2}/)[0]);
	expect(names).toEqual(['zebra', 'till', 'barista', 'key limits']);
	expect(lines.find((line) => line.includes('zebra'))).toContain('socket hang up');
});
