import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { GroupBench } from '../../test/group-bench.ts';

describe('all consumers together', () => {
	const EVENT_BYTES = 10_000;
	const BYTES_MAX = 8 * EVENT_BYTES;

	async function crowd(
		count: number,
	): Promise<{ bench: GroupBench; consumers: Awaited<ReturnType<GroupBench['open']>>[] }> {
		const bench = new GroupBench({ groups: { limits: { deliveredBytesMax: BYTES_MAX } } });
		for (let index = 0; index < 20; index++) bench.log.add('orders', { payload: 'x'.repeat(EVENT_BYTES) });
		const consumers = await Promise.all(Array.from({ length: count }, (_, n) => bench.open({ group: `group-${n}` })));
		await settle();
		return { bench, consumers };
	}
	const out = (consumers: readonly { readonly deliveries: readonly { event: { text: string } }[] }[]): number =>
		consumers.reduce(
			(sum, { deliveries }) => sum + deliveries.reduce((bytes, { event }) => bytes + event.text.length, 0),
			0,
		);

	it('have no more out than the limit, however many they are', async () => {
		const { consumers } = await crowd(64);
		expect(out(consumers)).toBeLessThanOrEqual(BYTES_MAX);
		expect(out(consumers)).toBeGreaterThan(BYTES_MAX / 2);
	});

	it('share it: one that acks nothing leaves the others theirs', async () => {
		const { consumers } = await crowd(4);
		for (const { deliveries } of consumers) expect(deliveries.length).toBeGreaterThan(0);
	});

	it('leave room for one that comes later, although none of them acks anything', async () => {
		const bench = new GroupBench({ groups: { limits: { deliveredBytesMax: BYTES_MAX } } });
		for (let index = 0; index < 1000; index++) bench.log.add('orders', { payload: index });
		for (let index = 0; index < 8; index++) {
			await bench.open({ group: `stuck-${index}`, inFlightMax: 4096 });
			await settle();
		}
		const late = await bench.open({ group: 'late' });
		await settle();
		expect(late.deliveries.length).toBeGreaterThan(1);
	});

	it('that had their part get more where another one gives its back, without an ack of their own', async () => {
		const bench = new GroupBench({ groups: { limits: { deliveredBytesMax: BYTES_MAX } } });
		for (let index = 0; index < 1000; index++) bench.log.add('orders', { payload: index });
		const hogs: Awaited<ReturnType<GroupBench['open']>>[] = [];
		for (let index = 0; index < 8; index++) {
			hogs.push(await bench.open({ group: `hog-${index}`, inFlightMax: 4096 }));
			await settle();
		}
		const late = await bench.open({ group: 'late', inFlightMax: 4096 });
		await settle();
		const before = late.deliveries.length;
		for (const { consumer } of hogs) consumer.close();
		await settle();
		expect(late.deliveries.length).toBeGreaterThan(before);
	});

	it('go on where another one acks or leaves', async () => {
		const { consumers } = await crowd(16);
		const waiting = consumers.filter(({ deliveries }) => deliveries.length === 0);
		expect(waiting.length).toBeGreaterThan(0);
		for (const each of consumers) if (each.deliveries.length > 0) each.consumer.close();
		await settle();
		expect(waiting.filter(({ deliveries }) => deliveries.length > 0).length).toBeGreaterThan(0);
	});
});
