import type { ServiceInstance } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import {
	A,
	B,
	createSource,
	type FakeBackendSource,
	instance,
	query,
	recorder,
	refused,
} from '../test/fake-backend-source.ts';
import type { Backend } from './backend.ts';
import { BackendSource } from './backend-source.ts';

const HOLD_MS = 10_000;

/** A source that serves A, and whoever is told. */
function serving(options: Parameters<typeof createSource>[0] = {}) {
	const created = createSource(options);
	const seen = recorder();
	created.source.watch(query, seen);
	created.last().answered(A);
	return { ...created, seen };
}

const told = ({ events }: FakeBackendSource, type: string) => events.filter((event) => event.type === type);

describe('an empty answer after another one', () => {
	it('is held back: the last instances are served, marked stale and held, with their age; then it is believed', async () => {
		const one = serving();
		await one.clock.advance(1000);
		one.last().answered([]);
		expect(one.source.peek(query)).toMatchObject({
			instances: A,
			source: 'last-known-good',
			held: true,
			ageMs: 1000,
			revision: 2,
		});
		expect(one.source.watches()).toMatchObject([{ state: 'held', ageMs: 1000, error: null }]);
		await one.clock.advance(HOLD_MS - 1);
		expect(one.source.peek(query)?.instances).toBe(A);
		await one.clock.advance(1);
		expect(one.source.peek(query)).toMatchObject({ instances: [], source: 'live', ageMs: 0, revision: 3 });
		expect(one.source.peek(query)).not.toHaveProperty('held');
		expect(one.seen.seen.map(({ instances, held }) => [instances.length, held === true])).toEqual([
			[1, false],
			[1, true],
			[0, false],
		]);
		expect(told(one, 'held')).toMatchObject([{ query, count: 1, holdMs: HOLD_MS }]);
		expect(told(one, 'hold-ended')).toMatchObject([{ outcome: 'emptied', heldMs: HOLD_MS }]);
	});

	it('is forgotten when the same instances come back, which are live again at once', async () => {
		const one = serving();
		one.last().answered([]);
		await one.clock.advance(3000);
		one.last().answered([instance('a')]);
		expect(one.source.peek(query)).toMatchObject({ instances: A, source: 'live', ageMs: 0 });
		await one.clock.advance(HOLD_MS);
		expect(one.source.peek(query)?.instances).toBe(A);
		expect(told(one, 'hold-ended')).toMatchObject([{ outcome: 'returned', heldMs: 3000 }]);
	});

	it('is forgotten when other instances come', async () => {
		const one = serving();
		one.last().answered([]);
		one.last().answered(B);
		expect(one.source.peek(query)).toMatchObject({ instances: B, source: 'live' });
		await one.clock.advance(HOLD_MS);
		expect(one.source.peek(query)?.instances).toBe(B);
	});

	it('may be said again: the hold is not made longer by it', async () => {
		const one = serving();
		one.last().answered([]);
		await one.clock.advance(HOLD_MS - 1000);
		one.last().answered([]);
		await one.clock.advance(1000);
		expect(one.source.peek(query)?.instances).toEqual([]);
	});

	it('in an outage is held anew when the registry is back: one that lost its data must not wipe what was known', async () => {
		const one = serving();
		one.last().failed(refused);
		one.last().answered([]);
		expect(one.source.peek(query)).toMatchObject({ instances: A, held: true, source: 'last-known-good' });
		one.last().failed(refused);
		expect(one.source.peek(query)).not.toHaveProperty('held');
		expect(one.source.peek(query)).toMatchObject({ instances: A, source: 'last-known-good' });
		await one.clock.advance(HOLD_MS * 2);
		expect(one.source.peek(query)?.instances).toBe(A);
		one.last().answered([]);
		await one.clock.advance(HOLD_MS);
		expect(one.source.peek(query)).toMatchObject({ instances: [], source: 'live' });
		expect(told(one, 'hold-ended')).toMatchObject([{ outcome: 'failed' }, { outcome: 'emptied' }]);
	});

	it('is believed at once as the first answer, with emptyHoldMs 0, and of a backend that means it', () => {
		const first = createSource();
		first.source.watch(query, recorder());
		first.last().answered([]);
		expect(first.source.peek(query)).toMatchObject({ instances: [], source: 'live' });

		const off = serving({ emptyHoldMs: 0 });
		off.last().answered([]);
		expect(off.source.peek(query)).toMatchObject({ instances: [], source: 'live' });

		const { backend, clock, last } = createSource();
		const trusted: Backend = { ...backend, trustsEmpty: true };
		const source = new BackendSource({ backend: trusted, clock });
		source.watch(query, recorder());
		last().answered(A);
		last().answered([]);
		expect(source.peek(query)).toMatchObject({ instances: [], source: 'live' });
	});

	it('is believed at once where this process took the instance out itself, before or while it is held', async () => {
		const before = serving();
		before.source.trustEmpty('barista');
		before.last().answered([]);
		expect(before.source.peek(query)?.instances).toEqual([]);

		const during = serving();
		during.last().answered([]);
		during.source.trustEmpty('somebody else');
		expect(during.source.peek(query)?.instances).toBe(A);
		during.source.trustEmpty('barista');
		expect(during.source.peek(query)?.instances).toEqual([]);

		const later = serving();
		later.source.trustEmpty('barista');
		await later.clock.advance(HOLD_MS);
		later.last().answered([]);
		expect(later.source.peek(query)).toMatchObject({ instances: A, held: true });
	});

	it('leaves no timer behind when the source is closed or the entry goes', async () => {
		const one = serving();
		one.last().answered([]);
		await one.source.close();
		expect(one.clock.pendingTimers).toBe(0);
		expect(told(one, 'hold-ended')).toMatchObject([{ outcome: 'dropped' }]);
	});

	it('explain says for how long it is held, and until when', async () => {
		const one = serving();
		one.last().answered([]);
		await one.clock.advance(4000);
		expect(await one.source.inspect(query)).toMatchObject({ state: 'held', held: { forMs: 4000, endsInMs: 6000 } });
		one.last().answered(A);
		expect(await one.source.inspect(query)).toMatchObject({ state: 'fresh', held: null });
	});
});

describe('panic', () => {
	const instances = (...statuses: ServiceInstance['status'][]) =>
		statuses.map((status, number) => ({ ...instance(`i${number}`), status }));

	it('below the threshold the snapshot says so, and at it no more; each change is told once', () => {
		const { source, last, events } = createSource({ panicThreshold: 0.5 });
		source.watch(query, recorder());
		last().answered(instances('passing', 'critical'));
		expect(source.peek(query)).not.toHaveProperty('panic');
		last().answered(instances('passing', 'critical', 'critical'));
		expect(source.peek(query)).toMatchObject({ panic: true, source: 'live' });
		last().failed(refused);
		expect(source.peek(query)).toMatchObject({ panic: true, source: 'last-known-good' });
		last().answered(instances('critical', 'critical', 'critical'));
		expect(source.peek(query)).toMatchObject({ panic: true });
		last().answered(instances('passing', 'warning', 'critical'));
		expect(source.peek(query)).not.toHaveProperty('panic');
		expect(events.filter((event) => event.type === 'panic')).toMatchObject([
			{ active: true, healthy: 1, instances: 3 },
			{ active: false, healthy: 2, instances: 3 },
		]);
	});

	it('is off by default, and never for a service without instances', () => {
		const off = createSource();
		off.source.watch(query, recorder());
		off.last().answered(instances('critical', 'critical'));
		expect(off.source.peek(query)).not.toHaveProperty('panic');
		const on = createSource({ panicThreshold: 1 });
		on.source.watch(query, recorder());
		on.last().answered([]);
		expect(on.source.peek(query)).not.toHaveProperty('panic');
	});

	it.each([-0.1, 1.1, Number.NaN])('a threshold of %s is refused by name', (panicThreshold) => {
		expect(() => createSource({ panicThreshold })).toThrow(/panicThreshold/);
	});
});
