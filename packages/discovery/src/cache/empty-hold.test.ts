import { describe, expect, it } from 'vitest';

import {
	A,
	B,
	createSource,
	type FakeBackendSource,
	HOLD_MS,
	instance,
	query,
	recorder,
	refused,
	serving,
} from '../../test/fake-backend-source.ts';
import { BackendSource } from '../backend-source.ts';
import type { Backend } from '../foundation/backend.ts';

const told = ({ events }: FakeBackendSource, type: string) => events.filter((event) => event.type === type);

describe('an empty answer after another one', () => {
	it('is held back: the last instances are served, marked stale and held, with their age; then it is asked anew, and believed', async () => {
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
		expect(one.source.peek(query)?.instances).toBe(A);
		one.last().answered([]);
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
		expect(one.watching.map(({ stopped }) => stopped)).toEqual([true, false]);
		one.last().answered([]);
		expect(one.source.peek(query)?.instances).toEqual([]);
	});

	it('that was a lie ends with the instances, and not with an empty service, whatever the watch waits for', async () => {
		const one = serving();
		one.last().answered([]);
		// A watch that was given an index waits for a change, which there is not.
		await one.clock.advance(HOLD_MS);
		expect(one.source.watches()).toMatchObject([{ state: 'held' }]);
		one.last().answered([instance('a')]);
		expect(one.source.peek(query)).toMatchObject({ instances: A, source: 'live', revision: 3 });
		expect(one.seen.seen.every(({ instances }) => instances.length === 1)).toBe(true);
		expect(told(one, 'hold-ended')).toMatchObject([{ outcome: 'returned' }]);
	});

	it('is not held where another process has held it; and is marked so for the next ones, as one that was held here', async () => {
		const elsewhere = serving();
		elsewhere.last().answered([], { ageMs: 0, isEmptied: true });
		expect(elsewhere.source.peek(query)).toMatchObject({ instances: [], source: 'live', emptied: true });
		const held = serving();
		held.last().answered([]);
		expect(held.source.peek(query)).not.toHaveProperty('emptied');
		await held.clock.advance(HOLD_MS);
		held.last().answered([]);
		expect(held.source.peek(query)).toMatchObject({ instances: [], source: 'live', emptied: true });
		held.last().failed(refused);
		held.last().answered([]);
		expect(held.source.peek(query)).toMatchObject({ instances: [], source: 'live', emptied: true });
		held.last().answered(A);
		expect(held.source.peek(query)).not.toHaveProperty('emptied');
	});

	it.each([
		['of a service that never had instances', {}],
		['that is believed by option', { emptyHoldMs: 0 }],
	])('%s is for the next ones to judge', (_what, options) => {
		const { source, last } = createSource(options);
		source.watch(query, recorder());
		if ('emptyHoldMs' in options) last().answered(A);
		last().answered([]);
		expect(source.peek(query)).toMatchObject({ instances: [], source: 'live' });
		expect(source.peek(query)).not.toHaveProperty('emptied');
	});

	it('is held for as long as nobody confirms it, and anew where that failed', async () => {
		const one = serving();
		one.last().answered([]);
		await one.clock.advance(HOLD_MS * 3);
		expect(one.source.peek(query)).toMatchObject({ instances: A, held: true });
		one.last().failed(refused);
		expect(one.source.peek(query)).toMatchObject({ instances: A, source: 'last-known-good' });
		one.last().answered([]);
		expect(one.source.peek(query)).toMatchObject({ instances: A, held: true });
		await one.clock.advance(HOLD_MS);
		one.last().answered([]);
		expect(one.source.peek(query)).toMatchObject({ instances: [], source: 'live' });
	});

	it('that is believed is asked again, ever later and not for ever, while somebody reads it', async () => {
		const one = serving();
		one.last().answered([]);
		await one.clock.advance(HOLD_MS);
		one.last().answered([]);
		const asked: number[] = [];
		for (let second = 1; second <= 400; second++) {
			const before = one.watching.length;
			await one.clock.advance(1000);
			if (one.watching.length > before) asked.push(second);
			one.last().answered([]);
		}
		expect(asked).toEqual([10, 30, 70, 150]);
		one.last().answered(A);
		one.last().answered([]);
		await one.clock.advance(HOLD_MS);
		one.last().answered([]);
		await one.clock.advance(HOLD_MS);
		one.last().answered(B);
		expect(one.source.peek(query)).toMatchObject({ instances: B, source: 'live' });
	});

	it('as the first one of a question is asked again too, while somebody reads it; of one that nobody reads it is not', async () => {
		const read = createSource();
		read.source.watch(query, recorder());
		read.last().answered([]);
		await read.clock.advance(HOLD_MS);
		expect(read.watching).toHaveLength(2);
		const idle = createSource();
		const got = idle.source.get(query);
		idle.last().answered([]);
		await got;
		await idle.clock.advance(HOLD_MS * 2);
		expect(idle.watching).toHaveLength(1);
	});

	it('that is believed is asked again too where it is only looked up, and by whoever does so now and then', async () => {
		const { source, clock, watching, last } = createSource();
		const got = source.get(query);
		last().answered([]);
		await got;
		for (let second = 0; second < HOLD_MS / 1000; second++) {
			source.peek(query);
			await clock.advance(1000);
		}
		expect(watching).toHaveLength(2);
		last().answered(A);
		expect(source.peek(query)).toMatchObject({ instances: A, source: 'live' });
	});

	it('that is late each time is believed after twice the hold, and is no more than the last that is known', async () => {
		const late = { ageMs: 5000, isUnconfirmed: true };
		const one = serving();
		one.last().answered([], late);
		await one.clock.advance(HOLD_MS);
		one.last().answered([], late);
		await one.clock.advance(HOLD_MS - 1);
		one.last().answered([], late);
		expect(one.source.peek(query)).toMatchObject({ instances: A, held: true });
		const asked = one.watching.length;
		await one.clock.advance(1);
		// A query that is held would say so again in minutes: it is asked anew.
		expect(one.watching).toHaveLength(asked + 1);
		one.last().answered([], late);
		expect(one.source.peek(query)).toMatchObject({ instances: [], source: 'last-known-good' });
		expect(one.source.peek(query)).not.toHaveProperty('held');
		expect(told(one, 'hold-ended')).toMatchObject([{ outcome: 'emptied', heldMs: HOLD_MS * 2 }]);
		await one.source.close();
		expect(one.clock.pendingTimers).toBe(0);
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
		one.last().answered([]);
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
