import type { AckedData } from '@spock/protocol';
import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { Sink, StoresHouse } from '../test/stores-house.ts';

const MINUTE_MS = 60_000;
const LONG = 'x'.repeat(500_000);

describe('a stream whose store is elsewhere', () => {
	it('goes there in order, and others stay', async () => {
		const house = await new StoresHouse().open();
		for (let count = 0; count < 5; count++) {
			await house.publish(count);
			await house.publish(count, 'clicks');
		}
		await house.clock.advance(1000);
		expect(house.stored).toEqual([0, 1, 2, 3, 4]);
		expect(house.store.eventsOf('clicks')).toEqual([]);
		const streams = house.service.status().streams.map(({ stream, store, unstored }) => [stream, store, unstored]);
		expect(streams).toEqual([
			['clicks', 'embedded', 0],
			['orders', 'simulated', 0],
		]);
	});

	it('is consumed from its store', async () => {
		const house = await new StoresHouse().open();
		const sink = new Sink();
		await house.service.openConsumer({ stream: 'orders', group: 'billing', from: 'first' }, sink);
		await house.publish(1);
		await settle();
		expect(sink.events).toHaveLength(0);
		await house.clock.advance(1000);
		expect(sink.events).toHaveLength(1);
	});

	it('tells a producer what is persisted, and later what is stored', async () => {
		const house = await new StoresHouse().open();
		house.options.isAway = true;
		const told: AckedData[] = [];
		const line = { acked: (data: AckedData) => void told.push(data), window: () => undefined };
		const { reply } = await house.service.openProducer({ producer: 'p', epoch: 1 }, line);
		const uplink = house.service.uplink(reply.ticket, { pause: () => undefined, resume: () => undefined });
		const event = (seq: number, stream: string) => {
			const text = `{"stream":"${stream}","payload":${seq}}`;
			return { kind: 'event', seq, stream, key: undefined, id: undefined, text, bytes: text.length } as const;
		};
		uplink?.frame(event(1, 'orders'));
		uplink?.frame(event(2, 'clicks'));
		await settle();
		expect(told.at(-1)).toMatchObject({ persisted: 2, stored: { clicks: 2 } });
		expect(told.at(-1)?.stored).not.toHaveProperty('orders');
		house.options.isAway = false;
		await house.clock.advance(20_000);
		expect(told.at(-1)).toMatchObject({ persisted: 2, stored: { orders: 1 } });
	});

	it('tells a producer that comes back after a restart what its store has', async () => {
		const house = await new StoresHouse().open();
		const line = { acked: () => undefined, window: () => undefined };
		const { reply } = await house.service.openProducer({ producer: 'p', epoch: 1 }, line);
		const uplink = house.service.uplink(reply.ticket, { pause: () => undefined, resume: () => undefined });
		const text = '{"stream":"orders","payload":1}';
		uplink?.frame({ kind: 'event', seq: 1, stream: 'orders', key: undefined, id: undefined, text, bytes: text.length });
		await house.clock.advance(100);
		await house.restart();
		await house.clock.advance(100);
		const again = await house.service.openProducer({ producer: 'p', epoch: 1, persisted: 0 }, line);
		expect(again.reply).toMatchObject({ persisted: 1, stored: { orders: 1 } });
		expect(house.stored).toEqual([1]);
	});

	it('settles a publish until stored when the store has it', async () => {
		const house = await new StoresHouse().open();
		house.options.isAway = true;
		let isSettled = false;
		const publish = house.service.publish({ stream: 'orders', payload: 1, until: 'stored' });
		void publish.then(() => {
			isSettled = true;
		});
		await house.clock.advance(MINUTE_MS);
		expect(isSettled).toBe(false);
		house.options.isAway = false;
		await house.clock.advance(MINUTE_MS);
		await publish;
		expect(house.stored).toEqual([1]);
	});

	it('parks what its store never takes, says so, and goes on', async () => {
		const parked: string[] = [];
		const house = await new StoresHouse({ parked: (stream, { code }) => parked.push(`${stream} ${code}`) }).open();
		const publish = house.service.publish({ stream: 'orders', payload: 'bad', until: 'stored' });
		const refusal = expect(publish).rejects.toMatchObject({ code: 'FRAME_TOO_LARGE' });
		await house.publish('good');
		await house.clock.advance(5000);
		await refusal;
		expect(parked).toEqual(['orders FRAME_TOO_LARGE']);
		expect(house.stored).toEqual(['good']);
		const sink = new Sink();
		await house.service.openConsumer({ stream: 'orders.refused', from: 'first' }, sink);
		await settle();
		expect(sink.events[0]?.event.text).toContain('"payload":"bad"');
		expect(sink.events[0]?.event.text).toContain('spock-refused-position');
	});

	it('goes on where it was after a restart', async () => {
		const house = await new StoresHouse().open();
		house.options.isAway = true;
		for (let count = 0; count < 3; count++) await house.publish(count);
		await house.restart();
		house.options.isAway = false;
		await house.clock.advance(MINUTE_MS);
		await house.publish(3);
		await house.restart();
		await house.clock.advance(1000);
		expect(house.stored).toEqual([0, 1, 2, 3]);
	});

	it('keeps its events while the store is away, says why the log is full, and empties it then', async () => {
		const house = await new StoresHouse().open();
		house.options.isAway = true;
		let reason = '';
		let count = 0;
		for (; reason === ''; count++) {
			await house.publish(LONG).catch((error: Error) => {
				reason = error.message;
			});
		}
		expect(reason).toContain('the store of a stream has not taken');
		await house.clock.advance(10 * MINUTE_MS);
		expect(house.service.status().state).toBe('blocked');
		house.options.isAway = false;
		await house.clock.advance(10 * MINUTE_MS);
		expect(house.stored).toHaveLength(count - 1);
		expect(house.service.status().state).toBe('receiving');
	});

	it('is stored before the service ends, or what is left is reported', async () => {
		const left: [string, number][] = [];
		const house = await new StoresHouse({ unstoredAtExit: (stream, count) => left.push([stream, count]) }).open();
		house.options.latencyMs = 300;
		for (let count = 0; count < 3; count++) await house.publish(count);
		const closing = house.service.close(5000);
		await house.clock.advance(5000);
		await closing;
		expect(house.stored).toEqual([0, 1, 2]);
		expect(left).toEqual([]);
	});

	it('reports what is left when the store stays away', async () => {
		const left: [string, number][] = [];
		const house = await new StoresHouse({ unstoredAtExit: (stream, count) => left.push([stream, count]) }).open();
		house.options.isAway = true;
		for (let count = 0; count < 3; count++) await house.publish(count);
		const closing = house.service.close(5000);
		await house.clock.advance(5000);
		await closing;
		expect(left).toEqual([['orders', 3]]);
		expect(house.clock.pendingTimers).toBe(0);
	});

	it('is sent again when its store has gone back', async () => {
		const wentBack: string[] = [];
		const house = await new StoresHouse({ storeWentBack: (stream) => wentBack.push(stream) }).open();
		for (let count = 0; count < 5; count++) await house.publish(count);
		await house.clock.advance(1000);
		house.store.lose('orders', house.store.eventsOf('orders')[2]?.position ?? 0);
		expect(house.stored).toEqual([0, 1]);
		await house.clock.advance(2 * MINUTE_MS);
		expect(house.stored).toEqual([0, 1, 2, 3, 4]);
		expect(wentBack).toEqual(['orders']);
	});

	it('is asked each minute whether it is there still; a store that is away then is waited for', async () => {
		const failures: string[] = [];
		const house = await new StoresHouse({ storeFailed: (_, { message }) => failures.push(message) }).open();
		await house.publish(1);
		await house.clock.advance(5000);
		house.options.isAway = true;
		await house.clock.advance(2 * MINUTE_MS);
		expect(failures).toContain('the store is away');
		house.options.isAway = false;
		await house.publish(2);
		await house.clock.advance(MINUTE_MS);
		expect(house.stored).toEqual([1, 2]);
	});

	it('may be waited for event by event: also where it is there already, refused or the sidecar ends', async () => {
		const house = await new StoresHouse().open();
		const publish = (payload: string, id: string) =>
			house.service.publish({ stream: 'orders', payload, id, until: 'stored' });
		const [good, bad] = [publish('good', 'g'), publish('bad', 'b').catch((error: Error) => error.message)];
		await house.clock.advance(10_000);
		await good;
		expect(await bad).toMatch(/is refused|has refused the event/);
		expect(await publish('good', 'g')).toMatchObject({ duplicate: true });
		expect(await publish('bad', 'b').catch((error: Error) => error.message)).toMatch(/has refused the event/);
		house.options.isAway = true;
		const late = publish('late', 'l').catch((error: Error) => error.message);
		await settle();
		const closing = house.service.close(0);
		await house.clock.advance(1000);
		await closing;
		expect(await late).toMatch(/is stopping/);
	});

	it('goes on under another name where its log is an older copy, and nothing new is taken for what the store has', async () => {
		const failures: string[] = [];
		const house = await new StoresHouse({ storeFailed: (_, { message }) => failures.push(message) }).open();
		for (let count = 0; count < 3; count++) await house.publish(count);
		await house.clock.advance(5000);
		const copy = house.disk.clone();
		for (let count = 3; count < 20; count++) await house.publish(count);
		await house.clock.advance(5000);
		await house.service.handOver();
		house.disk = copy;
		await house.restart();
		await house.publish('new');
		await house.clock.advance(MINUTE_MS);
		expect(failures).toEqual([expect.stringContaining('the log was restored from an older copy')]);
		expect(house.stored).toEqual(['new']);
		await house.restart();
		await house.publish('newer');
		await house.clock.advance(MINUTE_MS);
		expect(house.stored).toEqual(['new', 'newer']);
		expect(house.names.map((name) => house.names.indexOf(name))).toEqual([0, 0, 2, 2]);
		expect(failures).toHaveLength(1);
	});

	it('gets what the log has kept for a group before its store was elsewhere', async () => {
		const house = new StoresHouse();
		house.service = house.embedded();
		await house.open();
		const data = { stream: 'orders', group: 'billing', from: 'first', attempts: 0 } as const;
		await house.service.openConsumer(data, new Sink());
		for (let count = 0; count < 10; count++) await house.publish(LONG);
		await house.clock.advance(10 * MINUTE_MS);
		expect(house.service.status().streams).toMatchObject([{ stream: 'orders', events: 10 }]);
		await house.restart();
		await house.clock.advance(MINUTE_MS);
		expect(house.stored).toHaveLength(10);
	});

	it('goes on after a restart where there are more streams than a segment counts', async () => {
		const house = await new StoresHouse().open();
		house.options.isAway = true;
		const streams = Array.from({ length: 1100 }, (_, index) => `orders-${index}`);
		await Promise.all(streams.map((stream) => house.service.publish({ stream, payload: 1 })));
		await house.restart();
		house.options.isAway = false;
		await house.clock.advance(MINUTE_MS);
		expect(streams.filter((stream) => house.store.eventsOf(stream).length !== 1)).toEqual([]);
	});
});
