import type { Inspection, ServiceQuery, StatusReply } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { expect, it } from 'vitest';

import type { ClientFacts } from '../connection/connection-facts.ts';
import { StatusModel, viewOf } from './status-model.ts';

function createModel() {
	const clock = new FakeClock();
	const startedAt = clock.wallNow();
	const asked = { status: 0, known: 0 };
	const state: { requests: number; watches: string[]; events?: { next: number } } = {
		requests: 0,
		watches: ['barista'],
	};
	const status = (): StatusReply => {
		asked.status++;
		const watch = {
			state: 'fresh',
			revision: 1,
			instances: 1500,
			healthyInstances: 1500,
			readers: 1,
			ageMs: 0,
			error: null,
		};
		return {
			...{
				sidecar: 's/1',
				instance: 'uuid',
				pid: 7,
				uptimeMs: clock.wallNow() - startedAt,
				phase: 'serving',
				ready: true,
			},
			...{ reasons: [], connections: 1, subscriptions: 1, oversizeSubscriptions: 0, registrations: [], keyWatches: [] },
			...{ backend: { name: 'local', state: 'up', addresses: [], error: null, lastSuccessAgeMs: 0 }, counters: {} },
			watches: state.watches.map((service) => ({ service, ...watch })),
			...(state.events !== undefined && { events: state.events }),
		} as unknown as StatusReply;
	};
	const connection = (): ClientFacts => ({
		...{
			id: 1,
			client: 'c',
			library: null,
			pid: 1,
			transport: 'unix',
			address: null,
			certificate: null,
			openedAtMs: 0,
		},
		...{
			subscriptions: 1,
			subscriptionsRevision: 1,
			keys: 0,
			inFlight: 0,
			outputBytes: 0,
			oversize: 0,
			registered: [],
		},
		...{ isSlow: false, isSilent: false, isNarrowed: false },
		...{ requests: state.requests, bytesRead: state.requests * 10, bytesWritten: state.requests * 20 },
	});
	const instances = Array.from({ length: 1500 }, (_, index) => ({
		...{ instance: `i${index}`, host: 'h', port: 1, weight: 1, status: 'passing', tags: [], meta: {} },
	}));
	const known = ({ service }: ServiceQuery): Inspection | undefined => {
		asked.known++;
		if (service !== 'barista') return undefined;
		const snapshot = { service, revision: 1, instances, source: 'live', ageMs: 0, verifiedAt: 0 };
		return {
			snapshot,
			state: 'fresh',
			error: null,
			held: null,
			changedAt: 5,
			readers: 1,
			instances: new Map(),
		} as never;
	};
	const model = new StatusModel({
		sidecar: {
			status,
			gauges: () => ({ inFlight: 3, grpcConnections: 0 }) as never,
			connections: () => [connection()],
			watched: (id) => (id === 1 ? { services: ['barista', 'gone'], keys: [] } : undefined),
			watchers: () => [{ connection: 1, client: 'c', pid: 1 }],
		},
		known,
		host: 'machine',
		durations: () => ({ boundsMs: [1], counts: [state.requests, 0] }),
		changes: { changes: [] },
		clock,
	});
	return { model, clock, state, asked, startedAt };
}

it('nothing is done before somebody looks, and once a second however many look', async () => {
	const { model, clock, asked } = createModel();
	await clock.advance(60_000);
	expect([asked, clock.pendingTimers]).toEqual([{ status: 0, known: 0 }, 0]);
	const first = model.current();
	await clock.advance(800);
	expect(Object.is(model.current(), first)).toBe(true);
	await clock.advance(200);
	expect(Object.is(model.current(), first)).toBe(false);
	expect(asked).toEqual({ status: 2, known: 1 });
});

it('rates are null at first, then those since the last look', async () => {
	const { model, clock, state, startedAt } = createModel();
	state.requests = 1000;
	expect(viewOf(model.current()).overview).toMatchObject({ rates: null, startedAt, inFlight: 3, services: 1 });
	await clock.advance(2000);
	state.requests = 1500;
	const { overview, connections, services } = viewOf(model.current());
	expect(overview.rates).toEqual({ requests: 250, bytesRead: 2500, bytesWritten: 5000 });
	expect(overview.latency).toMatchObject({ total: [1500, 0], recent: [500, 0], recentMs: 2000 });
	expect([overview.startedAt, connections.rows[0]?.rates?.requests]).toEqual([startedAt, 250]);
	expect(services).toMatchObject([{ key: 'barista', healthy: 1500, changedAt: 5 }]);
});

it('a service is told with its first thousand instances and how many there are; what nobody watches is not', () => {
	const { model, state } = createModel();
	state.watches = ['barista', 'evicted'];
	const detail = model.detail('barista');
	expect(detail).toMatchObject({ key: 'barista', instanceCount: 1500, watcherCount: 1 });
	expect(detail?.instances).toHaveLength(1000);
	expect([model.detail('evicted'), model.detail('nobody'), model.detail('')]).toEqual([
		undefined,
		undefined,
		undefined,
	]);
});

it('a client is shown with what it subscribes to; one that has left is not', () => {
	const { model } = createModel();
	expect(model.client(1)).toEqual({
		...{ id: 1, keys: [] },
		services: [{ key: 'barista', service: 'barista', label: '', state: 'fresh', instances: 1500, healthy: 1500 }],
	});
	expect([model.client(2), model.client(Number.NaN)]).toEqual([undefined, undefined]);
});

it('counts what is written to the log of events in a second, once it is open', async () => {
	const { model, clock, state } = createModel();
	const rate = async (next?: number): Promise<number | null> => {
		if (next !== undefined) state.events = { next };
		await clock.advance(1000);
		return model.current().overview.recordsPerSecond;
	};
	expect([await rate(), await rate(0), await rate(10), await rate(25)]).toEqual([null, null, null, 15]);
});
