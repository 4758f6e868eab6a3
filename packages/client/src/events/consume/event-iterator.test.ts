import { describe, expect, it } from 'vitest';

import { delivered, fakeConsumers, next, opened, tick } from '../../../test/events/fake-downlink.ts';

describe('consuming', () => {
	it('opens one connection with the first consumer, and ends it with the last', async () => {
		const { consumers, downlink } = fakeConsumers();
		const [one, two] = [consumers.consume('orders', {}), consumers.consume('clicks', {})];
		expect(downlink.ends).toEqual([]);
		void one.next();
		void two.next();
		expect(downlink.ends).toEqual(['open']);
		const line = downlink.connect();
		expect(line.calls.map(({ data }) => data)).toMatchObject([{ stream: 'orders' }, { stream: 'clicks' }]);
		await one.return();
		expect(downlink.ends).toEqual(['open']);
		await two.return();
		expect(downlink.ends).toEqual(['drain']);
		expect(consumers.count).toBe(0);
	});

	it('asks for what was asked for, with its defaults', async () => {
		const { consumers, downlink } = fakeConsumers();
		void consumers.consume('orders', { group: 'billing', from: 'first', filter: { keys: ['a'] } }).next();
		expect(downlink.connect().calls[0]?.data).toEqual({
			...{ stream: 'orders', group: 'billing', from: 'first', filter: { keys: ['a'] } },
			...{ inFlightMax: 64, ackWaitMs: 30_000, attempts: 5, order: 'none' },
		});
	});

	it('throws for wrong options at the call', () => {
		const { consumers } = fakeConsumers();
		expect(() => consumers.consume('or ders', {})).toThrow('stream must be');
		expect(() => consumers.consume('orders', { gruop: 'billing' } as object)).toThrow('did you mean "group"?');
		expect(() => consumers.consume('orders', { inFlightMax: 0 })).toThrow(
			'inFlightMax must be an integer from 1 to 4096',
		);
	});

	it('hands events out in the order in which they came, those that came before they were asked for too', async () => {
		const { events, first } = await opened([1, 2, 3]);
		expect([first.data, (await next(events)).data, (await next(events)).data]).toEqual([1, 2, 3]);
	});

	it('tells the acks of a tick in one notice', async () => {
		const { events, first, line } = await opened([1, 2, 3]);
		for (const event of [first, await next(events), await next(events)]) expect(event.ack()).toBe(true);
		expect(line.notices).toEqual([]);
		await tick();
		expect(line.notices).toEqual([{ func: 'ack', data: { consumer: 1, n: [1, 2, 3] } }]);
	});

	it('tells what became of each, and only once', async () => {
		const { events, first, line } = await opened([1, 2, 3, 4]);
		const [second, third, fourth] = [await next(events), await next(events), await next(events)];
		expect([first.nack({ delayMs: 50 }), second.nack(), third.term('no such customer'), fourth.extend()]).toEqual(
			Array(4).fill(true),
		);
		expect([first.ack(), second.nack(), third.term(), first.extend()]).toEqual(Array(4).fill(false));
		expect([first.isOut, fourth.isOut]).toEqual([false, true]);
		await tick();
		expect(line.notices).toEqual([
			{ func: 'extend', data: { consumer: 1, n: [4] } },
			{ func: 'nack', data: { consumer: 1, n: [1], delayMs: 50 } },
			{ func: 'nack', data: { consumer: 1, n: [2] } },
			{ func: 'term', data: { consumer: 1, n: [3], reason: 'no such customer' } },
		]);
		expect(() => fourth.nack({ delayMs: -1 })).toThrow('delayMs must be an integer from 0');
	});

	it('after a loss opens again; what was not acked comes again, and an ack of the lost delivery tells that it is void', async () => {
		const { downlink, events, first, line } = await opened([1, 2]);
		downlink.lose();
		expect(first.isOut).toBe(false);
		expect([first.ack(), first.nack(), first.term(), first.extend()]).toEqual(Array(4).fill(false));
		const again = downlink.connect();
		expect(again.calls[0]?.data).toEqual(line.calls[0]?.data);
		again.deliver(delivered(7, { position: 1, time: 1001, delivery: 2 }));
		const second = await next(events);
		expect(second).toMatchObject({ position: 1, delivery: 2 });
		expect(second.ack()).toBe(true);
		await tick();
		expect(again.told('ack')).toEqual([7]);
		expect(line.notices).toEqual([]);
	});

	it('moves to the new connection after a goaway, and ignores what the old one still sends', async () => {
		const { downlink, events, first, line } = await opened([1]);
		const successor = downlink.connect();
		line.deliver(delivered(2));
		expect(first.ack()).toBe(false);
		successor.deliver(delivered(1, { delivery: 2 }));
		expect(await next(events)).toMatchObject({ position: 1, delivery: 2 });
	});

	it('does not hand out again what was acked, when the ack was lost with its connection', async () => {
		const { downlink, events, first } = await opened([1, 2]);
		first.ack();
		downlink.lose();
		const again = downlink.connect();
		again.deliver(delivered(1, { time: 1001, delivery: 2 }), delivered(2, { time: 1002, delivery: 2 }));
		expect(await next(events)).toMatchObject({ position: 2 });
		await tick();
		expect(again.told('ack')).toEqual([1]);
	});

	it('repeats that an event is given up, when that was lost with its connection: it must become a dead letter', async () => {
		const { downlink, first } = await opened([1]);
		first.term('no such customer');
		downlink.lose();
		const again = downlink.connect();
		again.deliver(delivered(4, { position: 1, time: 1001, delivery: 2 }));
		await tick();
		expect(again.notices).toMatchObject([{ func: 'term', data: { n: [4], reason: 'no such customer' } }]);
	});

	it('hands out again what was acked, when the group was rewound, or another log has its position', async () => {
		const { downlink, events, first, line } = await opened([1]);
		first.ack();
		line.deliverAfter(1, delivered(2, { position: 1, time: 1001, delivery: 1 }));
		const second = await next(events);
		expect(second).toMatchObject({ position: 1, delivery: 1 });
		second.ack();
		downlink.lose();
		downlink.connect().deliverAfter(1, delivered(1, { time: 5_000, delivery: 2 }));
		expect(await next(events)).toMatchObject({ position: 1, time: 5_000 });
	});

	it('over a restart of the sidecar tells an ack that was lost from a group that was rewound', async () => {
		const { downlink, events, first } = await opened([1]);
		first.ack();
		downlink.lose();
		const again = downlink.connect();
		// Counted anew by the next process.
		again.deliver(delivered(1));
		await tick();
		expect(again.told('ack')).toEqual([1]);
		downlink.lose();
		downlink.connect().deliverAfter(1, delivered(1));
		expect(await next(events)).toMatchObject({ position: 1 });
	});

	it('a reader without a group goes on where it is after a loss, and skips what it has acked', async () => {
		const { downlink, events, first, line } = await opened([1, 2, 3], { group: undefined, from: 'new' });
		expect(line.calls[0]?.data).toMatchObject({ from: 'new' });
		const [second] = [await next(events), await next(events)];
		second.ack();
		first.ack();
		downlink.lose();
		const again = downlink.connect();
		expect(again.calls[0]?.data).toMatchObject({ from: { position: 3 } });
		again.deliver(delivered(1, { position: 3 }));
		(await next(events)).ack();
		downlink.lose();
		expect(downlink.connect().calls[0]?.data).toMatchObject({ from: { position: 4 } });
	});

	it('a reader skips what it has acked behind what it has not', async () => {
		const { downlink, events } = await opened([1, 2, 3], { group: undefined });
		(await next(events)).ack();
		downlink.lose();
		const again = downlink.connect();
		expect(again.calls[0]?.data).toMatchObject({ from: { position: 1 } });
		again.deliver(...[1, 2, 3].map((n) => delivered(n)));
		expect([(await next(events)).position, (await next(events)).position]).toEqual([1, 3]);
		await tick();
		expect(again.told('ack')).toEqual([2]);
	});

	it('a reader that was never delivered anything begins again where it was opened, not where the stream ends by then', async () => {
		const { consumers, downlink } = fakeConsumers();
		void consumers.consume('orders', { from: 'new' }).next();
		const line = downlink.connect({ answers: false });
		line.calls[0]?.resolve({ consumer: 1, position: 90 });
		downlink.lose();
		expect(downlink.connect().calls[0]?.data).toMatchObject({ from: { position: 90 } });
	});

	it('holds no more than inFlightMax: where the time of the oldest has run out at the sidecar, that one is void', async () => {
		const { events, first, line } = await opened([1, 2, 3], { inFlightMax: 3 });
		line.deliver(delivered(4), delivered(5));
		expect(first.isOut).toBe(false);
		const rest = [await next(events), await next(events), await next(events)];
		expect(rest.map(({ position }) => position)).toEqual([3, 4, 5]);
	});

	it('hands out only the newest of two deliveries of one event', async () => {
		const { events, first, line } = await opened([1, 2]);
		line.deliver(delivered(8, { position: 1, delivery: 2 }), delivered(9, { position: 2, delivery: 2 }));
		expect(first.ack()).toBe(false);
		expect(await next(events)).toMatchObject({ position: 1, delivery: 2 });
		expect(await next(events)).toMatchObject({ position: 2, delivery: 2 });
	});

	it('extends what waits here while the app goes on from event to event', async () => {
		const { clock, events, line } = await opened([1, 2, 3]);
		await next(events);
		await tick();
		expect(line.told('extend')).toEqual([]);
		await clock.advance(10_000);
		await next(events);
		await tick();
		expect(line.told('extend')).toEqual([3]);
	});

	it('keeps order of a loop that is left: acks first, then it is closed, and the rest comes again elsewhere', async () => {
		const { consumers, downlink } = fakeConsumers();
		const loop = (async () => {
			for await (const event of consumers.consume<number>('orders', { group: 'billing' })) {
				event.ack();
				if (event.data === 2) break;
			}
		})();
		const line = downlink.connect();
		line.deliver(delivered(1), delivered(2), delivered(3));
		await loop;
		expect(line.log).toEqual(['openConsumer', 'ack', 'closeConsumer']);
		expect(line.told('ack')).toEqual([1, 2]);
		expect(downlink.ends).toEqual(['drain']);
	});

	it('that is left says which events the app had begun with, so that the others have used up no attempt', async () => {
		const { events, line } = await opened([1, 2, 3]);
		await next(events);
		await events.return();
		expect(line.calls.at(-1)).toMatchObject({ func: 'closeConsumer', data: { handed: [1, 2] } });
	});

	it('when it is left, its events are void', async () => {
		const { events, first } = await opened([1]);
		const left = events.return();
		expect(first.ack()).toBe(false);
		expect(await left).toEqual({ value: undefined, done: true });
		expect(await events.next()).toEqual({ value: undefined, done: true });
	});

	it('that is left while it is being opened closes what was opened', async () => {
		const { consumers, downlink } = fakeConsumers();
		const events = consumers.consume('orders', {});
		const waiting = events.next();
		const line = downlink.connect({ answers: false });
		const left = events.return();
		expect(await waiting).toEqual({ value: undefined, done: true });
		line.answers = true;
		line.calls[0]?.resolve({ consumer: 4, position: 1 });
		await left;
		expect(line.calls[1]).toMatchObject({ func: 'closeConsumer', data: { consumer: 4 } });
	});

	it('that is left before it began has asked for nothing', async () => {
		const { consumers, downlink } = fakeConsumers();
		const events = consumers.consume('orders', {});
		await events.return();
		expect(await events.next()).toEqual({ value: undefined, done: true });
		expect(downlink.ends).toEqual([]);
	});

	it('resolves although the sidecar never answers that it has closed it: its end is enough', async () => {
		const { downlink, events, line } = await opened([1]);
		line.answers = false;
		const left = events.return();
		downlink.lose();
		await left;
		expect(downlink.ends).toEqual(['drain']);
	});

	it('by its signal takes no more events, and what was handed out may still be acked', async () => {
		const abort = new AbortController();
		const { events, first, line, downlink } = await opened([1, 2], { signal: abort.signal });
		const waiting = [await next(events), events.next()] as const;
		abort.abort();
		expect(await waiting[1]).toEqual({ value: undefined, done: true });
		line.deliver(delivered(3));
		expect(await events.next()).toEqual({ value: undefined, done: true });
		expect([first.ack(), waiting[0].ack()]).toEqual([true, true]);
		await tick();
		expect(line.log).toEqual(['openConsumer', 'ack', 'closeConsumer']);
		expect(downlink.ends).toEqual(['drain']);
	});

	it('with a signal that has aborted ends before it began', async () => {
		const { consumers, downlink } = fakeConsumers();
		const signal = AbortSignal.abort();
		expect(await consumers.consume('orders', { signal }).next()).toEqual({ value: undefined, done: true });
		expect(downlink.ends).toEqual([]);
	});
});
