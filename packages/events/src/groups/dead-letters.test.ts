import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { GroupBench } from '../../test/group-bench.ts';

describe('a dead letter', () => {
	it('is written after the last attempt, with the circumstances in its headers', async () => {
		const bench = new GroupBench();
		const { position } = bench.log.add('orders', { key: 'k', headers: { region: 'eu' }, payload: { a: 1 } });
		const one = await bench.open({ attempts: 2 });
		await one.nack(0, 10);
		await bench.clock.advance(10);
		await one.nack(1);
		expect(bench.dead).toEqual([
			{
				stream: 'orders.dead',
				key: 'k',
				headers: {
					region: 'eu',
					'spock-dead-reason': 'nacked at delivery 2, the last',
					'spock-dead-stream': 'orders',
					'spock-dead-position': String(position),
					'spock-dead-group': 'billing',
					'spock-dead-deliveries': '2',
				},
				payload: { a: 1 },
			},
		]);
		await bench.clock.advance(600_000);
		expect(one.deliveries).toHaveLength(2);
	});

	it('is not made of what its consumer gave back unseen: that comes again as if it had not been delivered', async () => {
		const bench = new GroupBench();
		bench.add(3);
		const one = await bench.open({ attempts: 1 });
		const [, seen] = one.deliveries;
		one.consumer.close([seen?.n ?? 0]);
		await settle();
		expect(bench.dead.map(({ payload }) => payload)).toEqual([1]);
		const another = await bench.open({ attempts: 1 });
		expect(another.shown).toEqual(['0', '2']);
		another.consumer.close();
		await settle();
		expect(bench.dead.map(({ payload }) => payload)).toEqual([1, 0, 2]);
	});

	it('is made of the event that ends its consumers, and not of those that were out beside it', async () => {
		const bench = new GroupBench();
		bench.add(4);
		for (let crash = 1; crash <= 3; crash++) {
			const one = await bench.open({ attempts: 3 });
			const [poison] = one.deliveries;
			expect(poison?.event.position).toBe(1);
			expect(one.deliveries).toHaveLength(crash < 3 ? 4 : 1);
			one.consumer.close();
			await settle();
		}
		const last = await bench.open({ attempts: 3 });
		for (const position of [2, 3, 4]) {
			expect(last.deliveries.at(-1)).toMatchObject({ delivery: 3, event: { position } });
			last.consumer.ack([last.deliveries.length]);
			await settle();
		}
		bench.add(2);
		await settle();
		expect(last.deliveries).toHaveLength(5);
		expect(bench.dead.map(({ headers }) => headers['spock-dead-position'])).toEqual(['1']);
	});

	it('is written after a `term`, with its reason, cut to a bounded length', async () => {
		const bench = new GroupBench();
		bench.add(2);
		const one = await bench.open();
		one.consumer.term([1], 'no such customer');
		one.consumer.term([2], 'x'.repeat(10_000));
		await settle();
		const reasons = bench.dead.map(({ headers }) => headers['spock-dead-reason']);
		expect(reasons).toEqual(['no such customer', 'x'.repeat(512)]);
	});

	it('keeps the payload as it came, to the last digit', async () => {
		const bench = new GroupBench();
		const origin = { kind: 'event', producer: 'p', epoch: 1, seq: 1, key: undefined, id: undefined } as const;
		const text = '{"stream":"orders","headers":{"a":"b","payload":"c"},"payload":{"n":12345678901234567890.10}}';
		bench.log.append({ ...origin, stream: 'orders', text });
		const one = await bench.open();
		one.consumer.term([1]);
		await settle();
		const dead = bench.log.records.find((record) => record.kind === 'event' && record.stream === 'orders.dead');
		expect(dead?.text).toMatch(/,"payload":\{"n":12345678901234567890\.10\}\}$/);
		expect(bench.dead[0]?.headers).toMatchObject({ a: 'b', payload: 'c' });
	});

	it('is on disk before the event is done: a crash between the two repeats the event', async () => {
		const bench = new GroupBench();
		bench.add(1);
		const one = await bench.open({ attempts: 1 });
		bench.log.persistsAlone = false;
		await one.nack(0);
		const crashed = bench.reopened();
		expect((await crashed.open({ attempts: 1 })).shown).toEqual(['0']);
		bench.log.persist();
		await settle();
		bench.log.persist();
		await settle();
		const after = bench.reopened();
		expect((await after.open({ attempts: 1 })).shown).toEqual([]);
		expect(after.dead).toHaveLength(1);
	});

	it('of a stream of dead letters is not written again: the event is done', async () => {
		const bench = new GroupBench();
		bench.log.add('orders.dead', { payload: 1 });
		bench.log.add('orders.dead', { payload: 2 });
		const one = await bench.open({ stream: 'orders.dead', attempts: 1 });
		await one.nack(0);
		one.consumer.term([2]);
		await settle();
		const events = bench.log.records.filter(({ kind }) => kind === 'event');
		expect(events).toHaveLength(2);
		one.consumer.close();
		expect((await bench.open({ stream: 'orders.dead', attempts: 1 })).shown).toEqual([]);
	});

	it('that cannot be stored ends the consumers with the error, and the event comes again', async () => {
		const bench = new GroupBench();
		bench.add(1);
		const one = await bench.open({ attempts: 1 });
		bench.log.failure = new Error('released');
		await one.nack(0);
		expect(one.errors).toMatchObject([{ code: 'INTERNAL' }]);
		bench.log.failure = undefined;
		const two = await bench.open({ attempts: 1 });
		expect(two.shown).toEqual(['0']);
	});
});
