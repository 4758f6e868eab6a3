import { channel } from 'node:diagnostics_channel';

import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { SpockError } from '@spock/protocol';
import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { delivered, fakeConsumers } from './events/fake-downlink.ts';
import { calm, simulateEvents } from './events/simulated-events.ts';
import { otelSetup } from './otel-setup.ts';

const EMITTED_SPAN = { traceId: '1'.repeat(32), spanId: '2'.repeat(16) };
const TRACEPARENT = `00-${EMITTED_SPAN.traceId}-${EMITTED_SPAN.spanId}-01`;

describe('the span of an event that is emitted', () => {
	it('is of the kind PRODUCER, by the conventions, and a child of the span in which it was emitted; the event carries it', async () => {
		await using otel = otelSetup();
		const { events, sidecar, diplomat } = await simulateEvents();
		const parent = otel.tracer.startSpan('a request of the app');
		await context.with(trace.setSpan(context.active(), parent), async () => {
			events.emit('clicks', 1);
			await events.publish('orders', 2, { id: 'o-7' });
		});
		parent.end();
		const [clicks, orders, request] = otel.spans();
		expect([clicks?.name, orders?.name, request?.name]).toEqual(['send clicks', 'send orders', 'a request of the app']);
		expect(orders?.kind).toBe(SpanKind.PRODUCER);
		expect(orders?.parentSpanContext?.spanId).toBe(parent.spanContext().spanId);
		const common = {
			'messaging.system': 'spock',
			'messaging.operation.name': 'send',
			'messaging.operation.type': 'send',
			'messaging.client.id': 'tester',
		};
		expect(clicks?.attributes).toEqual({ ...common, 'messaging.destination.name': 'clicks' });
		expect(orders?.attributes).toEqual({
			...common,
			'messaging.destination.name': 'orders',
			'messaging.message.id': 'o-7',
		});
		await calm();
		const { traceId } = parent.spanContext();
		expect(sidecar.taken.map(({ data }) => data['traceparent'])).toEqual(
			[clicks, orders].map((span) => `00-${traceId}-${span?.spanContext().spanId}-01`),
		);
		await diplomat.close();
	});

	it('stays here where the trace is not to be carried, and is not made where that is not wanted', async () => {
		await using otel = otelSetup({ propagate: false });
		const { events, sidecar, diplomat } = await simulateEvents();
		events.emit('clicks', 1);
		otel.bridge.dispose();
		await using without = otelSetup({ events: false });
		events.emit('clicks', 2);
		await calm();
		expect(otel.spans()).toHaveLength(1);
		expect(without.spans()).toEqual([]);
		expect(sidecar.taken.map(({ data }) => data['traceparent'])).toEqual([undefined, undefined]);
		await diplomat.close();
	});

	it('does not replace a trace that the app has given the event', async () => {
		const emitted = channel('spock:client:event:emitted');
		const own = (message: unknown): void => {
			(message as { trace: object }).trace = { traceparent: TRACEPARENT };
		};
		emitted.subscribe(own);
		await using _otel = otelSetup();
		const { events, sidecar, diplomat } = await simulateEvents();
		events.emit('clicks', 1);
		emitted.unsubscribe(own);
		await calm();
		expect(sidecar.taken.map(({ data }) => data['traceparent'])).toEqual([TRACEPARENT]);
		await diplomat.close();
	});
});

describe('the span of a handler', () => {
	it('is of the kind CONSUMER, a trace of its own, linked to the emission; what the handler does is within it', async () => {
		await using otel = otelSetup();
		const { consumers, downlink } = fakeConsumers();
		const caller = otel.tracer.startSpan('who called handle');
		context.with(trace.setSpan(context.active(), caller), () => {
			void consumers.handle('orders', { group: 'billing' }, async () => {
				await Promise.resolve();
				otel.tracer.startSpan('bill').end();
			});
		});
		downlink.connect().deliver(delivered(7, { event: { id: 'o-7', traceparent: TRACEPARENT } }));
		await settle();
		const [bill, span] = otel.spans();
		expect([bill?.name, span?.name]).toEqual(['bill', 'process orders']);
		expect(bill?.parentSpanContext?.spanId).toBe(span?.spanContext().spanId);
		expect(span?.kind).toBe(SpanKind.CONSUMER);
		expect(span?.status).toEqual({ code: SpanStatusCode.UNSET });
		expect(span?.parentSpanContext).toBeUndefined();
		expect(span?.links.map((link) => link.context)).toEqual([{ ...EMITTED_SPAN, traceFlags: 1, isRemote: true }]);
		expect(span?.attributes).toEqual({
			'messaging.system': 'spock',
			'messaging.operation.name': 'process',
			'messaging.operation.type': 'process',
			'messaging.destination.name': 'orders',
			'messaging.message.id': 'o-7',
			'messaging.consumer.group.name': 'billing',
		});
		await consumers.close();
	});

	it('has no link where the event has no trace, or one that cannot be read, and no group for a reader', async () => {
		await using otel = otelSetup();
		const { consumers, downlink } = fakeConsumers();
		void consumers.handle('orders', {}, () => undefined);
		downlink.connect().deliver(delivered(1), delivered(2, { event: { traceparent: '00-broken' } }));
		await settle();
		expect(otel.spans().map(({ links, attributes }) => [links, attributes['messaging.message.id']])).toEqual([
			[[], 'orders@1'],
			[[], 'orders@2'],
		]);
		expect(otel.spans()[0]?.attributes).not.toHaveProperty('messaging.consumer.group.name');
		await consumers.close();
	});

	it('says how the handler failed', async () => {
		await using otel = otelSetup();
		const { consumers, downlink } = fakeConsumers();
		const failures = [new SpockError('UNAVAILABLE', 'later'), new RangeError('too much'), 'a text'];
		void consumers.handle('orders', { group: 'billing' }, () => {
			throw failures.shift();
		});
		downlink.connect().deliver(delivered(1), delivered(2), delivered(3));
		await settle();
		expect(otel.spans().map(({ status, attributes }) => [status, attributes['error.type']])).toEqual([
			[{ code: SpanStatusCode.ERROR, message: 'later' }, 'UNAVAILABLE'],
			[{ code: SpanStatusCode.ERROR, message: 'too much' }, 'RangeError'],
			[{ code: SpanStatusCode.ERROR, message: 'a text' }, 'Error'],
		]);
		await consumers.close();
	});

	it('ends with the bridge, which listens to nothing then; the handler goes on', async () => {
		await using otel = otelSetup();
		const { consumers, downlink } = fakeConsumers();
		let finish: () => void = () => undefined;
		let isDone = false;
		void consumers.handle('orders', { group: 'billing' }, async () => {
			await new Promise<void>((resolve) => {
				finish = resolve;
			});
			isDone = true;
		});
		downlink.connect().deliver(delivered(1));
		await settle();
		expect(otel.spans()).toEqual([]);
		otel.bridge.dispose();
		expect(otel.spans().map(({ name }) => name)).toEqual(['process orders']);
		for (const name of ['emitted', 'handle:start', 'handle:end']) {
			expect(channel(`spock:client:event:${name}`).hasSubscribers).toBe(false);
		}
		finish();
		await settle();
		expect(isDone).toBe(true);
		expect(otel.spans()).toHaveLength(1);
		await consumers.close();
	});
});
