import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { GroupBench } from '../../test/group-bench.ts';

describe('a consumer', () => {
	it('gets events in order, as many as may be out, and more by its acks', async () => {
		const bench = new GroupBench();
		bench.add(5);
		const one = await bench.open({ inFlightMax: 2 });
		expect(one.shown).toEqual(['0', '1']);
		await one.ack(0);
		expect(one.shown).toEqual(['0', '1', '2']);
		await one.ack(1, 2);
		expect(one.shown).toEqual(['0', '1', '2', '3', '4']);
		expect(one.batches.map(({ length }) => length)).toEqual([2, 1, 2]);
		await one.ack(3, 4);
		expect(bench.place).toBeGreaterThan(5);
	});

	it('gets what comes while it waits', async () => {
		const bench = new GroupBench();
		const one = await bench.open();
		bench.add(2);
		await settle();
		expect(one.shown).toEqual(['0', '1']);
	});

	it('has at most 1 MiB out, and one event always', async () => {
		const bench = new GroupBench();
		const large = 'x'.repeat(400_000);
		for (let index = 0; index < 4; index++) bench.log.add('orders', { payload: large });
		const one = await bench.open();
		expect(one.deliveries).toHaveLength(2);
		await one.ack(0);
		expect(one.deliveries).toHaveLength(3);
		await one.ack(1, 2);
		expect(one.deliveries).toHaveLength(4);
		bench.log.add('orders', { payload: 'x'.repeat(2_000_000) });
		await one.ack(3);
		expect(one.deliveries).toHaveLength(5);
	});

	it('competes with the other members of its group, and none gets what another has', async () => {
		const bench = new GroupBench();
		const one = await bench.open({ inFlightMax: 2 });
		const two = await bench.open({ inFlightMax: 3 });
		bench.add(6);
		await settle();
		expect([one.deliveries.length, two.deliveries.length]).toEqual([2, 3]);
		await two.ack(0);
		expect([...one.shown, ...two.shown].sort()).toEqual(['0', '1', '2', '3', '4', '5']);
	});

	it('that ends gives back what it had, with the delivery one higher', async () => {
		const bench = new GroupBench();
		bench.add(3);
		const one = await bench.open();
		const two = await bench.open();
		await one.ack(1);
		one.consumer.close();
		one.consumer.close();
		await settle();
		expect(two.shown).toEqual(['0/2', '2/2']);
		one.consumer.ack([1, 3]);
		await two.ack(0, 1);
		const again = await bench.open({ group: 'billing' });
		expect(again.deliveries).toEqual([]);
	});

	it('that was the last one leaves the count of deliveries to the next', async () => {
		const bench = new GroupBench();
		bench.add(2);
		const one = await bench.open({ attempts: 3 });
		one.consumer.close();
		const two = await bench.open({ attempts: 3 });
		expect(two.shown).toEqual(['0/2', '1/2']);
		await two.ack(1);
		two.consumer.close();
		const three = await bench.open({ attempts: 3 });
		expect(three.shown).toEqual(['0/3']);
		three.consumer.close();
		await settle();
		expect(bench.dead.map(({ headers }) => headers['spock-dead-reason'])).toEqual([
			'consumer lost at delivery 3, the last',
		]);
		expect((await bench.open({ attempts: 3 })).shown).toEqual([]);
	});

	it('without a group gets everything from where it begins, and nothing of it is kept', async () => {
		const bench = new GroupBench();
		bench.add(2);
		const alone = { stream: 'orders', from: 'first' } as const;
		for (let turn = 0; turn < 2; turn++) {
			const errors: unknown[] = [];
			const given: number[] = [];
			const consumer = await bench.groups.open(alone, {
				deliver: (events) => void given.push(...events.map(({ n }) => n)),
				closed: (error) => void errors.push(error),
			});
			await settle();
			consumer.ack(given);
			await settle();
			expect(given).toEqual([1, 2]);
			consumer.close();
		}
		expect(bench.store.groups()).toEqual([]);
		expect(bench.log.records.filter(({ kind }) => kind === 'note')).toEqual([]);
	});
});

describe('an event that fails', () => {
	it('comes again after 1 s, then 2 s, up to 5 min', async () => {
		const bench = new GroupBench();
		bench.add(1);
		const one = await bench.open({ attempts: 0 });
		for (const seconds of [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]) {
			const before = one.deliveries.length;
			await one.nack(before - 1);
			await bench.clock.advance(seconds * 1000 - 1);
			expect(one.deliveries).toHaveLength(before);
			await bench.clock.advance(1);
			expect(one.deliveries).toHaveLength(before + 1);
		}
		expect(one.deliveries.at(-1)?.delivery).toBe(12);
	});

	it('comes again after half of that at the least, by jitter', async () => {
		const bench = new GroupBench({ groups: { random: () => 0 } });
		bench.add(1);
		const one = await bench.open();
		await one.nack(0);
		await bench.clock.advance(499);
		expect(one.deliveries).toHaveLength(1);
		await bench.clock.advance(1);
		expect(one.deliveries).toHaveLength(2);
	});

	it('comes again when its consumer has said, and is acked while it waits for that', async () => {
		const bench = new GroupBench();
		bench.add(2);
		const one = await bench.open();
		await one.nack(0, 50);
		await one.nack(1, 40);
		await one.ack(0);
		await bench.clock.advance(60_000);
		expect(one.shown).toEqual(['0', '1', '1/2', '1/3']);
	});

	it('comes again when nobody has acked it in time, and an ack of the earlier delivery counts no more', async () => {
		const bench = new GroupBench();
		bench.add(1);
		const one = await bench.open({ ackWaitMs: 100 });
		await bench.clock.advance(100 + 1000);
		expect(one.shown).toEqual(['0', '0/2']);
		await one.ack(0);
		await bench.clock.advance(100 + 2000);
		expect(one.shown).toEqual(['0', '0/2', '0/3']);
		await one.ack(2);
		await bench.clock.advance(600_000);
		expect(one.deliveries).toHaveLength(3);
	});

	it('is done by an ack that is late, as long as its next delivery has not begun', async () => {
		const bench = new GroupBench();
		bench.add(1);
		const one = await bench.open({ ackWaitMs: 100 });
		await bench.clock.advance(500);
		await one.ack(0);
		await bench.clock.advance(600_000);
		expect(one.shown).toEqual(['0']);
		expect(bench.clock.pendingTimers).toBe(0);
	});

	it('is extended as often as its consumer says', async () => {
		const bench = new GroupBench();
		bench.add(1);
		const one = await bench.open({ ackWaitMs: 100 });
		for (let turn = 0; turn < 10; turn++) {
			await bench.clock.advance(90);
			one.consumer.extend([1]);
		}
		await bench.clock.advance(99);
		expect(bench.groups.status()).toMatchObject([{ out: 1, backingOff: 0 }]);
		await bench.clock.advance(1);
		expect(bench.groups.status()).toMatchObject([{ out: 0, backingOff: 1 }]);
	});

	it('one timer serves all', async () => {
		const bench = new GroupBench();
		bench.add(200);
		const one = await bench.open({ inFlightMax: 100 });
		for (let index = 0; index < 50; index++) await one.nack(index, 100 + index);
		expect(bench.clock.pendingTimers).toBe(1);
		await bench.clock.advance(1000);
		expect(bench.clock.pendingTimers).toBe(1);
		one.consumer.close();
		await settle();
		expect(bench.clock.pendingTimers).toBe(0);
	});
});

describe('order by key', () => {
	const byKey = (index: number): string => (index % 2 === 0 ? 'a' : 'b');

	it('one event of a key is out at a time, and one that backs off holds back its key alone', async () => {
		const bench = new GroupBench();
		bench.add(6, byKey);
		const one = await bench.open({ order: 'key' });
		expect(one.shown).toEqual(['0', '1']);
		await one.nack(0);
		await one.ack(1);
		expect(one.shown).toEqual(['0', '1', '3']);
		await one.ack(2);
		expect(one.shown).toEqual(['0', '1', '3', '5']);
		await bench.clock.advance(1000);
		expect(one.shown).toEqual(['0', '1', '3', '5', '0/2']);
		await one.ack(4);
		expect(one.shown.at(-1)).toBe('2');
	});

	it('events without a key wait for nothing', async () => {
		const bench = new GroupBench();
		bench.add(3);
		expect((await bench.open({ order: 'key' })).shown).toEqual(['0', '1', '2']);
	});

	it('a key goes on behind a dead letter, when that is on disk', async () => {
		const bench = new GroupBench();
		bench.add(2, () => 'a');
		const one = await bench.open({ order: 'key', attempts: 1 });
		bench.log.persistsAlone = false;
		await one.nack(0);
		expect(bench.dead).toHaveLength(1);
		expect(one.shown).toEqual(['0']);
		expect(bench.place).toBe(one.consumer.position);
		bench.log.persist();
		await settle();
		expect(one.shown).toEqual(['0', '1']);
		expect(bench.place).toBeGreaterThan(one.consumer.position);
	});

	it('the order `stream` has one event out at a time', async () => {
		const bench = new GroupBench();
		bench.add(3, byKey);
		const one = await bench.open({ order: 'stream' });
		const two = await bench.open({ order: 'stream' });
		expect([...one.shown, ...two.shown]).toEqual(['0']);
		await (one.deliveries.length > 0 ? one : two).ack(0);
		expect([...one.shown, ...two.shown].sort()).toEqual(['0', '1']);
	});

	it('reads ahead no further than its bound while keys are blocked, and goes on behind', async () => {
		const bench = new GroupBench({ groups: { limits: { lookAheadMax: 10 } } });
		bench.add(100, (index) => (index < 50 ? 'a' : 'b'));
		const reads: number[] = [];
		const { read } = bench.log;
		bench.log.read = (from, options) => {
			reads.push(options.eventsMax);
			return read.call(bench.log, from, options);
		};
		const one = await bench.open({ order: 'key' });
		expect(one.shown).toEqual(['0']);
		await settle();
		expect(reads.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(11);
		for (let index = 0; index < 50; index++) await one.ack(index);
		expect(one.shown).toContain('50');
		for (let index = 50; index < 100; index++) await one.ack(index);
		const shown = one.shown.map(Number);
		expect([...shown].sort((left, right) => left - right)).toEqual(Array.from({ length: 100 }, (_, index) => index));
		for (const isOfKey of [(each: number) => each < 50, (each: number) => each >= 50]) {
			const ofKey = shown.filter(isOfKey);
			expect(ofKey).toEqual([...ofKey].sort((left, right) => left - right));
		}
	});
});
