import { type AckedData, validateOpenConsumer } from '@spock/protocol';
import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { Sink, StoresHouse } from '../test/stores-house.ts';

describe('a stream whose store refuses events', () => {
	it('tells a producer what its store refused, before it says that the rest is stored, and again when it comes back', async () => {
		const house = await new StoresHouse().open();
		const told: AckedData[] = [];
		const line = { acked: (data: AckedData) => void told.push(data), window: () => undefined };
		const { reply } = await house.service.openProducer({ producer: 'p', epoch: 1 }, line);
		const uplink = house.service.uplink(reply.ticket, { pause: () => undefined, resume: () => undefined });
		for (const [index, payload] of ['good', 'bad', 'good'].entries()) {
			const text = JSON.stringify({ stream: 'orders', payload });
			uplink?.frame({
				kind: 'event',
				seq: index + 1,
				stream: 'orders',
				key: undefined,
				id: undefined,
				text,
				bytes: text.length,
			});
		}
		await settle();
		await house.clock.advance(5000);
		const refusedByStore = [
			{
				seq: 2,
				code: 'FRAME_TOO_LARGE',
				message: expect.stringMatching(/in "orders\.refused": the event at \d+ is refused/),
			},
		];
		expect(told.flatMap((data) => data.refusedByStore ?? [])).toEqual(refusedByStore);
		const refusedAt = told.findIndex((data) => data.refusedByStore !== undefined);
		expect(told.findIndex(({ stored }) => (stored?.['orders'] ?? 0) > 1)).toBeGreaterThanOrEqual(refusedAt);
		expect(told.at(-1)).toMatchObject({ stored: { orders: 3 } });
		const again = await house.service.openProducer({ producer: 'p', epoch: 1, persisted: 3 }, line);
		expect(again.reply).toMatchObject({ refusedByStore });
	});

	it('has a name that leaves room for those of its refused and dead events', async () => {
		const house = await new StoresHouse().open();
		const longest = 'orders'.padEnd(110, 'x');
		const publish = (stream: string) =>
			house.service.publish({ stream, payload: 'bad' }).then(
				() => 'published',
				({ code }: { code: string }) => code,
			);
		const names = [longest, `${longest}x`, `${longest}.dead`, `${longest}x.dead`, 'clicks'.padEnd(128, 'x')];
		const outcomes = ['published', 'BAD_REQUEST', 'published', 'BAD_REQUEST', 'published'];
		expect(await Promise.all(names.map(publish))).toEqual(outcomes);
		await house.clock.advance(5000);
		for (const stream of [`${longest}.refused`, `${longest}.dead.refused`]) {
			const sink = new Sink();
			const data = validateOpenConsumer({ stream, group: 'billing', from: 'first' });
			await house.service.openConsumer(data, sink);
			await settle();
			expect(sink.events).toHaveLength(1);
		}
	});
});
