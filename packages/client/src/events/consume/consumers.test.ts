import { describe, expect, it } from 'vitest';

import { delivered, fakeConsumers, next, opened, refusal } from '../../../test/events/fake-downlink.ts';

describe('the end of the client', () => {
	it('drains: waits for what the app has, as long as the sidecar would', async () => {
		const { clock, consumers, downlink, events, line } = await opened([1]);
		const waiting = events.next();
		let isDrained = false;
		const drained = consumers.drain().then(() => {
			isDrained = true;
		});
		expect(await waiting).toEqual({ value: undefined, done: true });
		await clock.advance(29_000);
		expect(isDrained).toBe(false);
		await clock.advance(1000);
		await drained;
		expect(line.log).toEqual(['openConsumer', 'closeConsumer']);
		expect(downlink.ends).toEqual(['drain']);
		expect(clock.pendingTimers).toBe(0);
	});

	it('drains at once where nothing is in the hands of the app, and nothing begins after it', async () => {
		const { consumers, downlink } = fakeConsumers();
		void consumers.consume('orders', {}).next();
		downlink.connect();
		await consumers.drain();
		expect(await consumers.consume('orders', {}).next()).toEqual({ value: undefined, done: true });
		await expect(consumers.handle('orders', {}, () => undefined)).rejects.toMatchObject({ code: 'CLOSED' });
		expect(downlink.ends).toEqual(['drain']);
	});

	it('closes at once, also in the middle of a drain', async () => {
		const { clock, consumers, downlink, events, first } = await opened([1]);
		const waiting = events.next();
		const drained = consumers.drain();
		await consumers.close();
		await drained;
		expect(await waiting).toEqual({ value: undefined, done: true });
		expect(first.ack()).toBe(false);
		expect(downlink.ends.at(-1)).not.toBe('open');
		expect(clock.pendingTimers).toBe(0);
	});
});

describe('a consumer that is refused', () => {
	it.each(['BAD_REQUEST', 'ACL_DENIED'] as const)('%s: rejects, and ends', async (code) => {
		const { consumers, downlink } = fakeConsumers();
		const events = consumers.consume('orders', {});
		const waiting = events.next();
		downlink.connect({ answers: false }).calls[0]?.reject(refusal(code));
		await expect(waiting).rejects.toMatchObject({ code });
		expect(await events.next()).toEqual({ value: undefined, done: true });
		expect(downlink.ends).toEqual(['drain']);
	});

	it('UNKNOWN_FUNC: says how a sidecar takes events', async () => {
		const { consumers, downlink } = fakeConsumers();
		const waiting = consumers.consume('orders', {}).next();
		downlink.connect({ answers: false }).calls[0]?.reject(refusal('UNKNOWN_FUNC'));
		await expect(waiting).rejects.toThrow('start it with --events DIR');
		const baseline = consumers.consume('orders', {}).next();
		downlink.connect({ answers: false }).calls[0]?.resolve(null);
		await expect(baseline).rejects.toMatchObject({ code: 'UNKNOWN_FUNC' });
	});

	it('UNAVAILABLE: is opened again, later each time', async () => {
		const { clock, consumers, downlink } = fakeConsumers();
		const events = consumers.consume('orders', {});
		const waiting = events.next();
		const line = downlink.connect({ answers: false });
		line.calls[0]?.reject(refusal('UNAVAILABLE'));
		await clock.advance(49);
		expect(line.calls).toHaveLength(1);
		await clock.advance(1);
		line.calls[1]?.reject(refusal('UNAVAILABLE'));
		await clock.advance(50);
		expect(line.calls).toHaveLength(2);
		await clock.advance(50);
		line.calls[2]?.resolve({ consumer: 1, position: 1 });
		line.deliver(delivered(1));
		expect((await waiting).value).toMatchObject({ position: 1 });
		expect(clock.pendingTimers).toBe(0);
	});

	it('closed by the sidecar: is opened again, and what was out is void; or it ends, where that cannot help', async () => {
		const { clock, events, first, line } = await opened([1]);
		line.push('consumerClosed', { consumer: 1, error: { ...refusal('UNAVAILABLE').toWire() } });
		expect(first.ack()).toBe(false);
		await clock.advance(100);
		expect(line.log).toEqual(['openConsumer', 'openConsumer']);
		const waiting = events.next();
		line.push('consumerClosed', { consumer: 2, error: { ...refusal('BAD_REQUEST').toWire() } });
		await expect(waiting).rejects.toMatchObject({ code: 'BAD_REQUEST' });
	});

	it('because no version is shared with the sidecar: every consumer ends', async () => {
		const { consumers, downlink } = fakeConsumers();
		const waiting = [consumers.consume('orders', {}).next(), consumers.consume('clicks', {}).next()];
		downlink.refuse(refusal('BAD_REQUEST'));
		for (const one of waiting) await expect(one).rejects.toMatchObject({ code: 'BAD_REQUEST' });
		expect(consumers.count).toBe(0);
	});
});

describe('a downlink', () => {
	it('has the sidecar close a consumer that no one here knows, once: one that was opened too late', async () => {
		const { line } = await opened([1]);
		line.answers = false;
		for (const n of [1, 2]) line.push('deliver', { consumer: 9, events: [delivered(n)] });
		expect(line.calls.slice(1)).toMatchObject([{ func: 'closeConsumer', data: { consumer: 9 } }]);
	});

	it('reports what is no delivery, and passes the rest on', async () => {
		const { downlink, events, line } = await opened([1]);
		line.push('deliver', { consumer: 1, events: [null, { n: 'x' }, delivered(2)] });
		line.push('deliver', { events: [] });
		line.push('deliver', null);
		line.push('something newer', {});
		expect(await next(events)).toMatchObject({ position: 2 });
		expect(downlink.faults).toHaveLength(3);
	});

	it('is there for who comes later', async () => {
		const { consumers, line } = await opened([1]);
		void consumers.consume('clicks', {}).next();
		expect(line.calls.at(-1)).toMatchObject({ func: 'openConsumer', data: { stream: 'clicks' } });
	});

	it('reports a delivery without a list', async () => {
		const { downlink, line } = await opened([1]);
		line.push('deliver', { consumer: 1, events: 'all' });
		expect(downlink.faults).toEqual(['deliver with what is no event']);
	});

	it('whose consumer was open for long opens it again without the delay of many failures', async () => {
		const { clock, line } = await opened([1]);
		const openings = (): number => line.calls.filter(({ func }) => func === 'openConsumer').length;
		const close = (): void =>
			line.push('consumerClosed', { consumer: openings(), error: refusal('UNAVAILABLE').toWire() });
		for (let turn = 1; turn <= 5; turn++) {
			close();
			await clock.advance(1000);
			expect(openings()).toBe(turn + 1);
		}
		await clock.advance(5000);
		close();
		// The sixth failure in a row would wait for longer.
		await clock.advance(60);
		expect(openings()).toBe(7);
	});
});
