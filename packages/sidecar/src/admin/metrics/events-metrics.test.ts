import { type EventsStatus, type GroupStatus, SpockError } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';

import { EventsMetrics } from './events-metrics.ts';

function create(more: Partial<EventsStatus> = {}) {
	const clock = new FakeClock();
	const metrics = new EventsMetrics(clock);
	const registry = new Registry();
	const status: EventsStatus = {
		...{ state: 'receiving', reason: null, directory: '/events', bytes: 5, bytesMax: 10, next: 1, producers: 1 },
		...{ unstored: 0, oldestUnstoredMs: null, windowBytes: 7, damaged: 0, idsForgotten: 0, streams: [], groups: [] },
		...more,
	};
	metrics.register(registry, () => status);
	const scrape = async (prefix: string): Promise<string[]> =>
		(await registry.metrics()).split('\n').filter((line) => line.startsWith(prefix));
	return { clock, observer: metrics.observer, scrape };
}

const group = (name: string, lag: number, oldestUnackedMs: number | null = null): GroupStatus => ({
	...{ stream: 'orders', group: name, order: 'none', consumers: 0, position: 1, out: 0, backingOff: 0 },
	...{ lag, oldestUnackedMs },
});

it('a stream has each of its counters from its first event on, so that the first dead letter is an increase', async () => {
	const { observer, scrape } = create();
	observer.accepted?.('orders', 3);
	expect(await scrape('spock_events_accepted_total{')).toContain('spock_events_accepted_total{stream="orders"} 3');
	expect(await scrape('spock_events_dead_total{')).toEqual([
		'spock_events_dead_total{stream="other"} 0',
		'spock_events_dead_total{stream="orders"} 0',
	]);
	observer.dead?.('orders', 'billing', 'attempts used up');
	expect(await scrape('spock_events_dead_total{')).toContain('spock_events_dead_total{stream="orders"} 1');
});

it('a stream that the log holds already is counted from 0', async () => {
	const stream = { stream: 'old', store: 'embedded', first: 1, last: 1, events: 1, bytes: 1, lastAt: 1, unstored: 0 };
	const { scrape } = create({ streams: [stream] });
	await scrape('spock_events');
	expect(await scrape('spock_events_dead_total{')).toContain('spock_events_dead_total{stream="old"} 0');
});

it('names of streams are bounded: the rest is counted together', async () => {
	const { observer, scrape } = create();
	for (let stream = 0; stream < 100; stream++) observer.persisted?.(`s${stream}`, 2);
	const lines = await scrape('spock_events_persisted_total{');
	expect(lines).toHaveLength(33);
	expect(lines).toContain('spock_events_persisted_total{stream="s31"} 2');
	expect(lines).toContain('spock_events_persisted_total{stream="other"} 136');
});

it('stores that cannot be used now are counted by what fails', async () => {
	const fault = { stream: 'orders', store: 'jetstream', reason: 'no server', forMs: 1 } as const;
	const { observer, scrape } = create({ storeFaults: [{ ...fault, doing: 'reading' }] });
	expect(await scrape('spock_events_store_faults{')).toEqual([
		'spock_events_store_faults{doing="sending"} 0',
		'spock_events_store_faults{doing="reading"} 1',
	]);
	observer.storeUnreadable?.('orders', new SpockError('UNAVAILABLE', 'no server'));
	expect(await scrape('spock_events_store_failures_total{')).toContain(
		'spock_events_store_failures_total{stream="orders"} 1',
	);
});

it('a group whose store is elsewhere has no lag here', async () => {
	const { scrape } = create({ groups: [{ ...group('billing', 0), lag: null }] });
	expect(await scrape('spock_events_lag{')).toEqual([]);
});

it('names of groups are bounded: those with the most events to do are named', async () => {
	const groups = Array.from({ length: 100 }, (_, index) => group(`g${index}`, index));
	const { scrape } = create({ groups });
	const lines = await scrape('spock_events_lag{');
	expect(lines).toHaveLength(32);
	expect(lines).toContain('spock_events_lag{stream="orders",group="g99"} 99');
	expect(lines).not.toContain('spock_events_lag{stream="orders",group="g0"} 0');
});

it('the time in which nothing was taken goes on until events are taken again', async () => {
	const { observer, scrape, clock } = create({ state: 'blocked' });
	observer.blocked?.('the log is full');
	await clock.advance(2000);
	expect(await scrape('spock_events_blocked')).toEqual([
		'spock_events_blocked 1',
		'spock_events_blocked_seconds_total 2',
	]);
	observer.blocked?.(null);
	await clock.advance(5000);
	expect(await scrape('spock_events_blocked_seconds_total')).toEqual(['spock_events_blocked_seconds_total 2']);
});

it('what was lost is counted: refused events, damaged records, a lost log, what was left at the end', async () => {
	const { observer, scrape } = create();
	for (const code of ['BAD_REQUEST', 'NEW_CODE']) observer.refused?.(null, { code, message: 'm' });
	observer.damaged?.({ file: 'f', from: 10, to: 13 });
	observer.logLost?.('p', 1, 2);
	observer.leftAtExit?.(4);
	expect(await scrape('spock_events_refused_total')).toEqual([
		'spock_events_refused_total{code="BAD_REQUEST"} 1',
		'spock_events_refused_total{code="FRAME_TOO_LARGE"} 0',
		'spock_events_refused_total{code="BAD_FRAME"} 0',
		'spock_events_refused_total{code="other"} 1',
	]);
	expect(await scrape('spock_events_damaged')).toEqual(['spock_events_damaged_records_total 3']);
	expect(await scrape('spock_events_log_lost')).toEqual(['spock_events_log_lost_total 1']);
	expect(await scrape('spock_events_left')).toEqual(['spock_events_left_at_exit 4']);
});

it('the oldest event that is out, of all groups; and how long syncs take', async () => {
	const { observer, scrape } = create({ groups: [group('a', 1, 1500), group('b', 1)] });
	observer.synced?.(3);
	expect(await scrape('spock_events_oldest_unacked')).toEqual(['spock_events_oldest_unacked_seconds 1.5']);
	expect(await scrape('spock_events_sync_seconds')).toEqual(
		expect.arrayContaining([
			'spock_events_sync_seconds_bucket{le="0.0025"} 0',
			'spock_events_sync_seconds_bucket{le="0.005"} 1',
			'spock_events_sync_seconds_count 1',
		]),
	);
});
