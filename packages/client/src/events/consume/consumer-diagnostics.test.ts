import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import { afterEach, describe, expect, it } from 'vitest';

import { delivered, fakeConsumers, refusal, tick } from '../../../test/events/fake-downlink.ts';
import { type EventHandleEndMessage, eventHandleStartChannel } from '../../foundation/event-diagnostics.ts';

const stops: (() => void)[] = [];

afterEach(() => {
	for (const stop of stops.splice(0)) stop();
});

/** Messages of these channels, from now on. */
function listen(...names: readonly string[]): { name: string; message: object }[] {
	const heard: { name: string; message: object }[] = [];
	for (const name of names) {
		const listener = (message: unknown): void => void heard.push({ name, message: message as object });
		subscribe(`spock:client:${name}`, listener);
		stops.push(() => void unsubscribe(`spock:client:${name}`, listener));
	}
	return heard;
}

const of = { stream: 'orders', group: 'billing' };

describe('the channels of consumers', () => {
	it('tell what becomes of events', async () => {
		const heard = listen('event:delivered', 'event:acked', 'event:nacked', 'event:dead');
		const { consumers, downlink } = fakeConsumers();
		const events = consumers.consume('orders', { group: 'billing' });
		const first = events.next();
		downlink.connect().deliver(delivered(1, { event: { key: 'c-1' } }), delivered(2), delivered(3));
		(await first).value?.ack();
		(await events.next()).value?.nack({ delayMs: 5 });
		(await events.next()).value?.term('never');
		const event = { ...of, delivery: 1, key: null, traceparent: null };
		expect(heard).toEqual([
			{ name: 'event:delivered', message: { ...event, position: 1, id: 'orders@1', key: 'c-1' } },
			{ name: 'event:delivered', message: { ...event, position: 2, id: 'orders@2' } },
			{ name: 'event:delivered', message: { ...event, position: 3, id: 'orders@3' } },
			{ name: 'event:acked', message: { ...event, position: 1, id: 'orders@1', key: 'c-1' } },
			{ name: 'event:nacked', message: { ...event, position: 2, id: 'orders@2', delayMs: 5 } },
			{ name: 'event:dead', message: { ...event, position: 3, id: 'orders@3', reason: 'never' } },
		]);
		heard.length = 0;
		downlink.line.deliver(delivered(4), delivered(5));
		(await events.next()).value?.nack();
		(await events.next()).value?.term();
		expect(heard.slice(2).map(({ message }) => message)).toMatchObject([{ delayMs: null }, { reason: null }]);
	});

	it('tell when a consumer is opened, again too, refused, and closed', async () => {
		const heard = listen('consumer:opened', 'consumer:closed');
		const { clock, consumers, downlink } = fakeConsumers();
		const events = consumers.consume('orders', { group: 'billing' });
		void events.next();
		const error = refusal('UNAVAILABLE');
		const line = downlink.connect({ answers: false });
		line.calls[0]?.reject(error);
		await clock.advance(50);
		line.calls[1]?.resolve({ consumer: 1, position: 3 });
		downlink.lose();
		downlink.connect();
		await events.return();
		expect(heard).toEqual([
			{ name: 'consumer:closed', message: { ...of, error, opensAgain: true } },
			{ name: 'consumer:opened', message: { ...of, position: 3, again: false } },
			{ name: 'consumer:opened', message: { ...of, position: 1, again: true } },
			{ name: 'consumer:closed', message: { ...of, error: null, opensAgain: false } },
		]);
	});

	it('tell the start and the end of a handler, which runs with the stores bound to the start', async () => {
		const heard = listen('event:handle:start', 'event:handle:end');
		const spans = new AsyncLocalStorage<unknown>();
		eventHandleStartChannel.bindStore(spans, (message) => ({ link: (message as { traceparent: string }).traceparent }));
		stops.push(() => void eventHandleStartChannel.unbindStore(spans));
		const seen: unknown[] = [];
		const { clock, consumers, downlink } = fakeConsumers();
		void consumers.handle('orders', { group: 'billing', concurrency: 2 }, async (event) => {
			await Promise.resolve();
			seen.push(spans.getStore());
			if (event.position === 2) throw new Error('no');
		});
		const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
		downlink.connect().deliver(delivered(1, { event: { traceparent } }), delivered(2));
		clock.work(3);
		await tick();
		expect(seen).toEqual([{ link: traceparent }, { link: null }]);
		const [first, second, ...ends] = heard.map(({ message }) => message as EventHandleEndMessage);
		expect([first, second]).toMatchObject([{ ...of, position: 1, traceparent }, { position: 2 }]);
		expect(ends).toMatchObject([
			{ position: 1, durationMs: 3, error: undefined },
			{ position: 2, error: { message: 'no' } },
		]);
		expect(ends.map(({ run }) => run)).toEqual([first?.run, second?.run]);
	});
});
