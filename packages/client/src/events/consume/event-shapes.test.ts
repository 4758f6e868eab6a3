import { inspect } from 'node:util';

import { describe, expect, it } from 'vitest';

import { delivered, fakeConsumers, tick } from '../../../test/events/fake-downlink.ts';
import type { EventSchema, EventShapes } from './event-shapes.ts';
import type { ReceivedEvent } from './received-event.ts';

/** Accepts an object with a number as `total`, which it doubles. */
const schema: EventSchema = {
	'~standard': {
		validate(value) {
			const { total } = value as { total?: unknown };
			if (typeof total === 'number') return { value: { total: total * 2 } };
			return { issues: [{ message: 'total is no number' }, { message: 'nor anything' }] };
		},
	},
};

/** The first event that is handed out, and what was told of those before it. */
async function received(shapes: EventShapes, ...events: Parameters<typeof delivered>[]) {
	const { consumers, downlink } = fakeConsumers(shapes);
	const next = consumers.consume('orders', {}).next();
	const line = downlink.connect();
	line.deliver(...events.map((event) => delivered(...event)));
	const { value } = await next;
	await tick();
	return { event: value as ReceivedEvent, line };
}

describe('a received event', () => {
	it('says what its producer said, and has an id in any case', async () => {
		const { event } = await received({}, [
			7,
			{
				delivery: 2,
				event: {
					key: 'c-1',
					at: 5,
					headers: { tenant: 'a' },
					traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`,
				},
			},
		]);
		expect({ ...event }).toEqual({
			...{
				stream: 'orders',
				key: 'c-1',
				id: 'orders@7',
				position: 7,
				time: 1007,
				delivery: 2,
				at: 5,
				version: 1,
				data: 7,
			},
			...{ headers: { tenant: 'a' }, traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01` },
		});
		expect((await received({}, [7, { event: { id: 'o-7' } }])).event.id).toBe('o-7');
	});

	it('has bytes for what was emitted as bytes', async () => {
		const { event } = await received({}, [1, { event: { encoding: 'base64', payload: 'AAEC' } }]);
		expect(event.data).toEqual(Buffer.from([0, 1, 2]));
	});

	it('is printed without its payload', async () => {
		const { event } = await received({}, [1, { event: { payload: 'secret' } }]);
		expect(inspect(event)).toContain("id: 'orders@1'");
		expect(inspect(event)).not.toContain('secret');
	});

	it('is upgraded from version to version, then checked; and is what its schema makes of it', async () => {
		const upgrade = {
			orders: { 1: (old: number) => ({ sum: old }), 2: ({ sum }: { sum: number }) => ({ total: sum }) },
		};
		const { event } = await received({ schemas: { orders: schema }, upgrade }, [5]);
		expect(event).toMatchObject({ version: 3, data: { total: 10 } });
		const newer = await received({ upgrade }, [5, { event: { version: 3, payload: { total: 5 } } }]);
		expect(newer.event).toMatchObject({ version: 3, data: { total: 5 } });
	});

	it('that can never be handled is a dead letter with the issues, and is not handed out', async () => {
		const { event, line } = await received(
			{ schemas: { orders: schema } },
			[1],
			[2, { event: { payload: { total: 1 } } }],
		);
		expect(event.position).toBe(2);
		expect(line.notices).toMatchObject([
			{ func: 'term', data: { n: [1], reason: expect.stringContaining('total is no number; nor anything') } },
		]);
	});

	it('whose upgrade or schema throws is a dead letter, too', async () => {
		const fail = (): never => {
			throw new Error('of undefined');
		};
		const second: Parameters<typeof delivered> = [2, { event: { version: 2 } }];
		const upgraded = await received({ upgrade: { orders: { 1: fail } } }, [1], second);
		expect(upgraded.line.notices[0]).toMatchObject({
			data: { n: [1], reason: 'the upgrade of orders from version 1 failed: of undefined' },
		});
		const { consumers, downlink } = fakeConsumers({ schemas: { orders: { '~standard': { validate: fail } } } });
		void consumers.consume('orders', {}).next();
		const line = downlink.connect();
		line.deliver(delivered(1));
		await tick();
		expect(line.notices[0]).toMatchObject({ data: { reason: 'the schema of orders failed: of undefined' } });
	});

	it('whose schema does not answer at once ends its consumer, and is given back', async () => {
		const validate = () => Promise.resolve({ value: 1 });
		const { consumers, downlink } = fakeConsumers({ schemas: { orders: { '~standard': { validate } } } });
		const next = consumers.consume('orders', {}).next();
		const line = downlink.connect();
		line.deliver(delivered(1));
		await expect(next).rejects.toThrow('it must validate synchronously');
		expect(line.log).toEqual(['openConsumer', 'closeConsumer']);
	});

	it('of a stream that is called as a member of every object has no shape', async () => {
		const { event } = await received({ schemas: {}, upgrade: {} }, [1, { event: { stream: 'constructor' } }]);
		expect(event.data).toBe(1);
	});
});
