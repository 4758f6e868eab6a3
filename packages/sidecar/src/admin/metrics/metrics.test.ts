import type { ClientStatus, EventsStatus, WatchStatus } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { EventsMetrics } from './events-metrics.ts';
import type { MetricsSource } from './metric.ts';
import { oldestServices } from './oldest-services.ts';
import { EventLoopMetrics } from './process-metrics.ts';
import { metricTable, SidecarMetrics } from './sidecar-metrics.ts';

function watch(service: string, more: Partial<WatchStatus> = {}): WatchStatus {
	const facts = { state: 'fresh', revision: 1, instances: 1, healthyInstances: 1, readers: 0, ageMs: 0, error: null };
	return { service, ...facts, ...more } as WatchStatus;
}

const client = { id: 1, name: 'app', version: '1', pid: 1 } as unknown as ClientStatus;

const gauges = {
	connections: 2,
	subscriptions: 3,
	oversizeSubscriptions: 0,
	inFlight: 4,
	outputBytes: 5,
	narrowed: 0,
	slowConsumers: 1,
	bytesRead: 100,
	bytesWritten: 200,
	registrations: 0,
	registrationsPending: 0,
	grpcConnections: 0,
	grpcStreams: 0,
};

function eventsStatus(more: Partial<EventsStatus> = {}): EventsStatus {
	return {
		...{ state: 'receiving', reason: null, directory: '/events', bytes: 5, bytesMax: 10, next: 1, producers: 1 },
		...{ unstored: 0, oldestUnstoredMs: null, windowBytes: 7, damaged: 0, idsForgotten: 0, streams: [], groups: [] },
		...more,
	};
}

function sourceOf(watches: readonly WatchStatus[], more: Partial<MetricsSource> = {}): MetricsSource {
	const backend = { name: 'consul', state: 'up', addresses: [], error: null, lastSuccessAgeMs: 1500 } as const;
	return {
		gauges: () => gauges,
		watches: () => watches,
		keyWatches: () => [],
		backend: () => backend,
		isReady: () => true,
		logLinesDropped: () => ({ unread: 1, limited: 2 }),
		limits: {} as MetricsSource['limits'],
		...more,
	};
}

async function scrape(metrics: SidecarMetrics, prefix: string): Promise<string[]> {
	const lines = (await metrics.registry.metrics()).split('\n');
	return lines.filter((line) => line.startsWith(prefix));
}

function observed(source: MetricsSource): SidecarMetrics {
	const metrics = new SidecarMetrics(new FakeClock());
	metrics.observe(source);
	new EventsMetrics(new FakeClock()).register(metrics.registry, () => eventsStatus());
	return metrics;
}

describe('the table of metrics', () => {
	it('has every metric that is registered, with its type, and no other', async () => {
		const metrics = observed(sourceOf([]));
		const registered = (await metrics.registry.getMetricsAsJSON()).map(({ name, type }) => `${name} ${type}`);
		const inTable = Object.entries(metricTable).map(([name, { type }]) => `${name} ${type}`);
		expect(inTable).toEqual(expect.arrayContaining(registered));
		// Of the process, Linux tells more than other systems.
		expect(registered).toEqual(expect.arrayContaining(inTable.filter((line) => line.startsWith('spock_'))));
	});
});

describe('what a scrape tells', () => {
	it('the bytes of connections that are open and of those that have ended', async () => {
		const metrics = observed(sourceOf([]));
		metrics.observer.connectionClosed?.(1, 'client', 10, 20, client);
		expect(await scrape(metrics, 'spock_connection_bytes_total')).toEqual([
			'spock_connection_bytes_total{direction="read"} 110',
			'spock_connection_bytes_total{direction="written"} 220',
		]);
	});

	it('how old the answers are, of so many services', async () => {
		const watches = [watch('a'), watch('b', { state: 'stale', ageMs: 7000 }), watch('c', { readers: 2 }), watch('d')];
		const metrics = observed(sourceOf(watches, { servicesMax: 2 }));
		expect(await scrape(metrics, 'spock_snapshot_')).toEqual(
			expect.arrayContaining([
				'spock_snapshot_age_seconds{service="b"} 7',
				'spock_snapshot_age_seconds{service="c"} 0',
				'spock_snapshot_oldest_age_seconds 7',
			]),
		);
		expect(await scrape(metrics, 'spock_snapshot_age_seconds{')).toHaveLength(2);
		expect(await scrape(metrics, 'spock_watches{')).toContain('spock_watches{state="stale"} 1');
	});

	it('a service that is no longer among them is told no more', async () => {
		const watches = [watch('a', { ageMs: 5000 }), watch('b')];
		const metrics = observed(sourceOf(watches, { servicesMax: 1 }));
		expect(await scrape(metrics, 'spock_snapshot_age_seconds{')).toEqual(['spock_snapshot_age_seconds{service="a"} 5']);
		watches[1] = watch('b', { ageMs: 9000 });
		expect(await scrape(metrics, 'spock_snapshot_age_seconds{')).toEqual(['spock_snapshot_age_seconds{service="b"} 9']);
	});

	it('each of several backends', async () => {
		const one = { name: 'consul', state: 'down', addresses: [], error: 'refused', lastSuccessAgeMs: null } as const;
		const other = { ...one, name: 'local', state: 'up', lastSuccessAgeMs: 0 } as const;
		const metrics = observed(
			sourceOf([], { backend: () => ({ ...one, name: 'consul,local', members: [one, other] }) }),
		);
		expect(await scrape(metrics, 'spock_backend_up{')).toEqual([
			'spock_backend_up{backend="consul"} 0',
			'spock_backend_up{backend="local"} 1',
		]);
		expect(await scrape(metrics, 'spock_backend_last_success_age_seconds{')).toHaveLength(1);
	});

	it('the phase, and every step of a take-over', async () => {
		const metrics = observed(sourceOf([]));
		metrics.tookOver({ step: 'finished', questions: 3 });
		metrics.observer.phase?.('handing over');
		metrics.observer.placeLost?.(new Error('lost'));
		const lines = [...(await scrape(metrics, 'spock_phase{')), ...(await scrape(metrics, 'spock_take_overs_total{'))];
		expect(lines.filter((line) => line.endsWith(' 1'))).toEqual([
			'spock_phase{phase="handing over"} 1',
			'spock_take_overs_total{step="finished"} 1',
			'spock_take_overs_total{step="handed over"} 1',
			'spock_take_overs_total{step="place lost"} 1',
		]);
	});

	it('requests by duration, each in every bucket that is long enough', async () => {
		const metrics = observed(sourceOf([]));
		metrics.observer.answered?.('getService', 'ok', 0.02, 3);
		metrics.observer.answered?.('getService', 'NOT_READY', 4000, 1);
		const name = 'spock_request_duration_seconds';
		const lines = await scrape(metrics, name);
		const bucket = (le: string) => lines.find((line) => line.startsWith(`${name}_bucket{le="${le}"`))?.split(' ')[1];
		expect([bucket('0.00001'), bucket('0.000025'), bucket('1'), bucket('+Inf')]).toEqual(['0', '3', '3', '4']);
		expect(lines).toContain(`${name}_count{func="getService"} 4`);
		expect(await scrape(metrics, 'spock_requests_total')).toEqual([
			'spock_requests_total{func="getService",code="ok"} 3',
			'spock_requests_total{func="getService",code="NOT_READY"} 1',
		]);
	});
});

describe('the services that are named', () => {
	it('are the oldest, then those with most readers over all their questions, then by name', () => {
		const watches = [
			watch('a', { readers: 1 }),
			watch('b', { readers: 1 }),
			watch('b', { readers: 1 }),
			watch('c', { ageMs: 3000 }),
			watch('d', { ageMs: 3400, readers: 9 }),
			watch('e', { readers: 1 }),
		];
		expect(oldestServices(watches, 4).map(({ service }) => service)).toEqual(['d', 'c', 'b', 'a']);
		expect(oldestServices(watches.toReversed(), 4).map(({ service }) => service)).toEqual(['d', 'c', 'b', 'a']);
		expect(oldestServices(watches, 9)).toHaveLength(5);
		expect(oldestServices(watches, 0)).toEqual([]);
	});
});

describe('the delay of the event loop', () => {
	it('is how late a timer comes, until it is closed', async () => {
		const clock = new FakeClock();
		let lateMs = 0;
		const late = {
			now: () => clock.now() + lateMs,
			wallNow: () => clock.wallNow(),
			setTimeout: (callback: () => void, delayMs: number) => clock.setTimeout(callback, delayMs),
			clearTimeout: (timer: Parameters<FakeClock['clearTimeout']>[0]) => clock.clearTimeout(timer),
		};
		const registry = new Registry();
		const eventLoop = new EventLoopMetrics(registry, late);
		eventLoop.start();
		await clock.advance(200);
		lateMs = 30;
		await clock.advance(200);
		const text = await registry.metrics();
		expect(text).toContain('spock_event_loop_delay_seconds_bucket{le="0.001"} 1');
		expect(text).toContain('spock_event_loop_delay_seconds_bucket{le="0.025"} 1');
		expect(text).toContain('spock_event_loop_delay_seconds_bucket{le="0.05"} 2');
		eventLoop.close();
		expect(clock.pendingTimers).toBe(0);
	});
});
