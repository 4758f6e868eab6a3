import { SpockError } from '@spock/protocol';
import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { GroupBench } from '../../test/group-bench.ts';

describe('the members of a group', () => {
	it.each([
		['order', { order: 'key' }, /order "none".*"key"/],
		['attempts', { attempts: 9 }, /attempts 5.*9/],
		['filter', { filter: { keys: ['a'] } }, /filter \{\}.*\{"keys":\["a"\]\}/],
	] as const)('have the same %s: a new one with another is refused, naming both', async (path, data, message) => {
		const bench = new GroupBench();
		const one = await bench.open();
		const refused = bench.open(data);
		await expect(refused).rejects.toMatchObject({ code: 'BAD_REQUEST', details: { path } });
		await expect(refused).rejects.toThrow(message);
		one.consumer.close();
		await bench.open(data);
	});

	it('may write the same filter in another order', async () => {
		const bench = new GroupBench();
		await bench.open({ filter: { keys: ['a', 'b'], headers: { x: '1', y: '2' } } });
		await bench.open({ filter: { headers: { y: '2', x: '1' }, keys: ['b', 'a'] } });
	});

	it('are known to their openers before their first event comes', async () => {
		const bench = new GroupBench();
		bench.add(2);
		await bench.open({ inFlightMax: 1 });
		const order: string[] = [];
		const sink = { deliver: () => void order.push('delivered'), closed: () => undefined };
		await bench.groups.open({ stream: 'orders', group: 'billing' }, sink);
		for (let hop = 0; hop < 20; hop++) await Promise.resolve();
		order.push('opened');
		await settle();
		expect(order).toEqual(['opened', 'delivered']);
	});

	it('open at the same time', async () => {
		const bench = new GroupBench();
		bench.add(4);
		const [one, two] = await Promise.all([bench.open({ inFlightMax: 2 }), bench.open({ inFlightMax: 2 })]);
		expect([...one.shown, ...two.shown].sort()).toEqual(['0', '1', '2', '3']);
	});
});

describe('a filter', () => {
	it('lets events of its keys and headers pass; the others are done', async () => {
		const bench = new GroupBench();
		bench.log.add('orders', { key: 'a', headers: { region: 'eu' }, payload: 0 });
		bench.log.add('orders', { key: 'a', headers: { region: 'us' }, payload: 1 });
		bench.log.add('orders', { key: 'c', headers: { region: 'eu' }, payload: 2 });
		bench.log.add('orders', { payload: 3 });
		bench.log.add('orders', { key: 'a', payload: { n: 5, headers: { region: 'eu' } } });
		bench.log.add('orders', { key: 'b', headers: { region: 'eu', more: 'x' }, payload: 4 });
		const filter = { keys: ['a', 'b'], headers: { region: 'eu' } };
		const one = await bench.open({ filter });
		expect(one.shown).toEqual(['0', '4']);
		await one.ack(0, 1);
		one.consumer.close();
		await settle();
		const again = bench.reopened();
		expect((await again.open()).shown).toEqual([]);
	});

	it('that nothing passes still moves the place', async () => {
		const bench = new GroupBench();
		bench.add(1000);
		const one = await bench.open({ filter: { keys: ['a'] } });
		await settle();
		expect(one.shown).toEqual([]);
		expect(bench.place).toBeGreaterThan(1000);
	});
});

describe('delete', () => {
	it('forgets a group, and what it had failed; one with members is refused', async () => {
		const bench = new GroupBench();
		bench.add(2);
		const one = await bench.open();
		const early = bench.groups.delete({ stream: 'orders', group: 'billing' });
		await expect(early).rejects.toThrow('group "billing" of stream "orders" has 1 consumer; end it first');
		await one.ack(0);
		one.consumer.close();
		await bench.groups.delete({ stream: 'orders', group: 'billing' });
		expect(bench.store.groups()).toEqual([]);
		expect((await bench.open()).shown).toEqual(['0', '1']);
	});

	it('of an unknown group is refused', async () => {
		const bench = new GroupBench();
		const unknown = bench.groups.delete({ stream: 'orders', group: 'biling' });
		await expect(unknown).rejects.toMatchObject({ code: 'BAD_REQUEST' });
	});
});

describe('rewind', () => {
	it('moves a group with members: what is out is forgotten, and acks of it are ignored', async () => {
		const bench = new GroupBench();
		bench.add(3);
		const one = await bench.open();
		await one.ack(0, 1);
		const { position } = await bench.groups.rewind({ stream: 'orders', group: 'billing', to: 'first' });
		await settle();
		expect(position).toBe(1);
		expect(one.shown).toEqual(['0', '1', '2', '0', '1', '2']);
		await one.ack(2);
		one.consumer.close();
		const two = await bench.open();
		expect(two.shown).toEqual(['0/2', '1/2', '2/2']);
	});

	it('gives the credit of what was out back, and ends timers', async () => {
		const bench = new GroupBench();
		bench.add(4);
		const one = await bench.open({ inFlightMax: 2 });
		await one.nack(0);
		await bench.groups.rewind({ stream: 'orders', group: 'billing', to: { position: 4 } });
		await settle();
		expect(one.shown).toEqual(['0', '1', '2', '3']);
		await bench.groups.rewind({ stream: 'orders', group: 'billing', to: 'new' });
		await bench.clock.advance(600_000);
		expect(one.deliveries).toHaveLength(4);
	});

	it('moves a group without members, and skips for good', async () => {
		const bench = new GroupBench();
		bench.add(3);
		(await bench.open()).consumer.close();
		await bench.groups.rewind({ stream: 'orders', group: 'billing', to: 'new' });
		const one = await bench.reopened().open();
		expect(one.shown).toEqual([]);
	});

	it('of an unknown group is refused', async () => {
		const bench = new GroupBench();
		const rewind = bench.groups.rewind({ stream: 'orders', group: 'biling', to: 'new' });
		await expect(rewind).rejects.toMatchObject({ code: 'BAD_REQUEST' });
		expect(bench.store.groups()).toEqual([]);
	});

	it('forgets a dead letter that is on its way: its event is given again, and not done by that', async () => {
		let release: () => void = () => undefined;
		let died = 0;
		const bury = (): Promise<void> =>
			new Promise((resolve) => {
				release = resolve;
			});
		const bench = new GroupBench({ groups: { bury, observer: { died: () => void died++ } } });
		bench.add(1);
		const one = await bench.open({ attempts: 1 });
		await one.nack(0);
		await bench.groups.rewind({ stream: 'orders', group: 'billing', to: 'first' });
		await settle();
		expect(one.shown).toEqual(['0', '0']);
		release();
		await settle();
		expect(bench.place).toBe(1);
		expect(died).toBe(0);
		expect(bench.groups.status()).toMatchObject([{ out: 1 }]);
	});
});

describe('limits and faults', () => {
	it('a consumer too many is refused, and one that ends makes room', async () => {
		const bench = new GroupBench({ groups: { limits: { consumersMax: 2 } } });
		const one = await bench.open();
		await bench.open({ group: 'audit' });
		await expect(bench.open({ group: 'third' })).rejects.toMatchObject({ code: 'OVERLOADED' });
		one.consumer.close();
		await bench.open({ group: 'third' });
	});

	it('a stream whose dead letters could have no name is refused', async () => {
		const bench = new GroupBench();
		await bench.open({ stream: 's'.repeat(123) });
		await expect(bench.open({ stream: 's'.repeat(124) })).rejects.toMatchObject({ code: 'BAD_REQUEST' });
	});

	it('a fault of the store ends the consumers, and those that open again go on', async () => {
		const bench = new GroupBench();
		bench.add(2);
		const { read } = bench.log;
		bench.log.read = () => Promise.reject(new SpockError('UNAVAILABLE', 'the disk does not answer'));
		const one = await bench.open();
		expect(one.errors).toMatchObject([{ code: 'UNAVAILABLE' }]);
		bench.log.read = read;
		expect((await bench.open()).shown).toEqual(['0', '1']);
	});

	it('what an ended consumer still answers counts no more', async () => {
		const bench = new GroupBench();
		bench.add(2);
		const one = await bench.open();
		const { read } = bench.log;
		bench.log.read = () => Promise.reject(new SpockError('UNAVAILABLE', 'the disk does not answer'));
		bench.add(1);
		await settle();
		expect(one.errors).toHaveLength(1);
		bench.log.read = read;
		const two = await bench.open();
		const notes = bench.log.records.length;
		await one.ack(0, 1);
		await one.nack(0, 1);
		one.consumer.close();
		await bench.clock.advance(10);
		expect(bench.log.records).toHaveLength(notes);
		expect(two.shown).toEqual(['0', '1', '0']);
		expect(bench.groups.status()).toMatchObject([{ out: 3, consumers: 1 }]);
	});

	it('an ack that the log cannot take ends the consumers', async () => {
		const bench = new GroupBench();
		bench.add(1);
		const one = await bench.open();
		bench.log.failure = new SpockError('UNAVAILABLE', 'released');
		await one.ack(0);
		expect(one.errors).toMatchObject([{ code: 'UNAVAILABLE' }]);
		bench.log.failure = undefined;
		expect((await bench.open()).shown).toEqual(['0']);
	});

	it('close ends all consumers with its error, leaves no timer, and refuses new ones', async () => {
		const bench = new GroupBench();
		bench.add(2);
		const one = await bench.open();
		const two = await bench.open({ group: 'audit' });
		const gone = new SpockError('UNAVAILABLE', 'the sidecar ends');
		await bench.groups.close(gone);
		expect([one.errors, two.errors]).toEqual([[gone], [gone]]);
		expect(bench.clock.pendingTimers).toBe(0);
		await expect(bench.open()).rejects.toBe(gone);
	});

	it('close finishes dead letters, and waits no longer than it may for a disk that hangs', async () => {
		for (const hangs of [false, true]) {
			const bench = new GroupBench();
			bench.add(1);
			const one = await bench.open({ attempts: 1 });
			bench.log.persistsAlone = false;
			await one.nack(0);
			let isClosed = false;
			const closing = bench.groups.close(new SpockError('UNAVAILABLE', 'the sidecar ends'), 1000).then(() => {
				isClosed = true;
			});
			await bench.clock.advance(999);
			expect(isClosed).toBe(false);
			if (hangs) await bench.clock.advance(1);
			else bench.log.persist();
			await closing;
			await settle();
			expect(bench.clock.pendingTimers).toBe(0);
			bench.log.persist();
			expect((await bench.reopened().open()).shown).toEqual(hangs ? ['0'] : []);
		}
	});

	it('an ack counts when its note is on disk', async () => {
		const bench = new GroupBench();
		bench.add(2);
		const one = await bench.open();
		await one.ack(0);
		bench.log.persistsAlone = false;
		await one.ack(1);
		expect((await bench.reopened().open()).shown).toEqual(['1']);
		bench.log.persist();
		expect((await bench.reopened().open()).shown).toEqual([]);
	});

	it('a group that leaves one event undone stops at the bound of what it may have done above', async () => {
		const bench = new GroupBench({ store: { doneAboveMax: 300 } });
		bench.add(1000);
		const one = await bench.open({ inFlightMax: 100 });
		let acked = 1;
		const ackRest = async (): Promise<void> => {
			while (acked < one.deliveries.length) {
				const to = one.deliveries.length;
				await one.ack(...Array.from({ length: to - acked }, (_, index) => acked + index));
				acked = to;
			}
		};
		await ackRest();
		expect(one.deliveries.length).toBeGreaterThan(300);
		expect(one.deliveries.length).toBeLessThan(600);
		await one.ack(0);
		await ackRest();
		expect(one.deliveries).toHaveLength(1000);
		expect(bench.store.groups()[0]?.done.size).toBe(0);
	});

	it('status has the members, the place and what is out', async () => {
		const bench = new GroupBench();
		bench.add(3);
		const one = await bench.open();
		await one.ack(0);
		await one.nack(1);
		await bench.clock.advance(100);
		expect(bench.groups.status()).toEqual([
			{
				...{ stream: 'orders', group: 'billing', order: 'none', consumers: 1, position: 2 },
				...{ out: 1, backingOff: 1, oldestUnackedMs: 100 },
			},
		]);
	});
});
