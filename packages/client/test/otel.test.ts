import { channel } from 'node:diagnostics_channel';
import type { Duplex } from 'node:stream';

import { context, createTraceState, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AlwaysOffSampler, type ReadableSpan } from '@opentelemetry/sdk-trace-base';
import type { FuncName } from '@spock/protocol';
import { fakeSnapshot, settle, wireError } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { instrumentDiplomat } from '../src/otel.ts';
import { otelSetup } from './otel-setup.ts';
import { simulate } from './simulated-client.ts';

const PATH = '/nowhere/simulated.sock';
const HOLD_PING = { handle: ({ func }: { func: string }) => (func === 'ping' ? ('hold' as const) : undefined) };
const names = (spans: readonly ReadableSpan[]): string[] => spans.map(({ name }) => name);

describe('the spans of a client', () => {
	it('are of the kind CLIENT, by the conventions, and children of the span in which the call was made', async () => {
		await using otel = otelSetup();
		const { diplomat, sidecar } = await simulate();
		const parent = otel.tracer.startSpan('a request of the app');
		await context.with(trace.setSpan(context.active(), parent), () => diplomat.request('ping', 1));
		parent.end();
		const [span] = otel.spans();
		expect(names(otel.spans())).toEqual(['spock/ping', 'a request of the app']);
		expect(span?.kind).toBe(SpanKind.CLIENT);
		expect(span?.status).toEqual({ code: SpanStatusCode.UNSET });
		expect(span?.parentSpanContext?.spanId).toBe(parent.spanContext().spanId);
		expect(span?.attributes).toEqual({
			'rpc.system.name': 'spock',
			'rpc.method': 'spock/ping',
			'rpc.status_code': 'OK',
			'server.address': PATH,
			'network.peer.address': PATH,
		});
		const { traceId } = parent.spanContext();
		const traceparent = `00-${traceId}-${span?.spanContext().spanId}-01`;
		expect(sidecar.requestsOf('ping')).toMatchObject([{ trace: { traceparent } }]);
		await diplomat.close();
	});

	it('are of calls: the first lookup subscribes, and those that follow are answered here and have none', async () => {
		await using otel = otelSetup();
		const { diplomat, sidecar } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 1, ['1.2.3.4:80']));
		for (let turn = 0; turn < 5; turn++) await diplomat.getService('barista');
		expect(diplomat.pick('barista')).toBeDefined();
		expect(names(otel.spans())).toEqual(['spock/watchService']);
		await diplomat.close();
	});

	it('tell of every failure, whoever found it', async () => {
		await using otel = otelSetup();
		const { diplomat, sidecar, clock } = await simulate({}, HOLD_PING);
		const stop = new AbortController();
		const calls = [
			diplomat.request('ping', 1, { timeoutMs: 100 }),
			diplomat.request('ping', 2, { signal: stop.signal }),
			diplomat.request('ping', 3),
			diplomat.request('ping', 4),
		].map((call) => call.catch(() => undefined));
		await settle();
		await clock.advance(100);
		stop.abort();
		const [, , third] = sidecar.requestsOf('ping');
		sidecar.connection.fail(third?.id ?? -1, wireError('UNAVAILABLE', true));
		await settle();
		sidecar.connection.drop();
		await Promise.all(calls);
		expect(otel.spans().map(({ attributes }) => attributes['error.type'])).toEqual([
			'TIMEOUT',
			'ABORTED',
			'UNAVAILABLE',
			'DISCONNECTED',
		]);
		for (const { status, attributes } of otel.spans()) {
			expect(status.code).toBe(SpanStatusCode.ERROR);
			expect(attributes['rpc.status_code']).toBe(attributes['error.type']);
		}
		expect(otel.spans()[2]?.status.message).toBe('a scripted UNAVAILABLE');
		await diplomat.close();
	});

	it('do not take the names that an app makes up', async () => {
		await using otel = otelSetup();
		const { diplomat } = await simulate();
		await diplomat.request('made up' as FuncName, null as never).catch(() => undefined);
		expect(otel.spans()[0]).toMatchObject({
			name: 'spock',
			attributes: { 'rpc.method': '_OTHER', 'rpc.method_original': 'made up' },
		});
		await diplomat.close();
	});

	it('have host and port where the sidecar listens on TCP', async () => {
		await using otel = otelSetup();
		const transport = (): Duplex => {
			throw new Error('nobody is there');
		};
		const options = { path: undefined, host: 'spock.internal', port: 7777, transport } as object;
		const { diplomat } = await simulate({ ...options, whileDisconnected: 'fail' });
		await expect(diplomat.request('ping', 1)).rejects.toMatchObject({ code: 'DISCONNECTED' });
		await diplomat.close();
		const [span] = otel.spans();
		expect(span?.attributes).toMatchObject({ 'server.address': 'spock.internal', 'server.port': 7777 });
		expect(span?.attributes).not.toHaveProperty('network.peer.address');
	});
});

describe('what a client asks for itself', () => {
	it('has no spans and no trace, however it is connected and again', async () => {
		await using otel = otelSetup();
		const parent = otel.tracer.startSpan('who connected');
		const within = trace.setSpan(context.active(), parent);
		const { diplomat, sidecar, clock } = await context.with(within, () => simulate());
		sidecar.publish(fakeSnapshot('barista', 1, ['1.2.3.4:80']));
		await context.with(within, () => diplomat.getService('barista'));
		sidecar.connection.drop();
		await settle();
		await clock.advance(1000);
		await settle();
		expect(sidecar.requestsOf('watchService')).toHaveLength(2);
		expect(
			sidecar.requests.filter(({ trace: sent }) => sent).map(({ func, connection }) => [func, connection]),
		).toEqual([['watchService', 0]]);
		expect(names(otel.spans())).toEqual(['spock/watchService']);
		await diplomat.close();
	});

	it('has traces of its own where that is wanted, and is nobody’s child', async () => {
		await using otel = otelSetup({ ownCalls: true });
		const parent = otel.tracer.startSpan('who connected');
		const { diplomat } = await context.with(trace.setSpan(context.active(), parent), () => simulate());
		const [hello] = otel.spans();
		expect(hello?.name).toBe('spock/hello');
		expect(hello?.parentSpanContext).toBeUndefined();
		await diplomat.close();
	});
});

describe('the trace in a frame', () => {
	it('says that it is not sampled, where it is not', async () => {
		await using otel = otelSetup({}, new AlwaysOffSampler());
		const { diplomat, sidecar } = await simulate();
		await diplomat.request('ping', 1);
		expect(otel.spans()).toEqual([]);
		expect(sidecar.requestsOf('ping')[0]?.trace?.traceparent).toMatch(/-00$/);
		await diplomat.close();
	});

	it('is left out where that is wanted, and where nothing traces', async () => {
		await using otel = otelSetup({ propagate: false });
		const { diplomat, sidecar } = await simulate();
		await diplomat.request('ping', 1);
		expect(names(otel.spans())).toEqual(['spock/ping']);
		otel.bridge.dispose();
		using _global = instrumentDiplomat();
		await diplomat.request('ping', 2);
		expect(sidecar.requestsOf('ping').map(({ trace: sent }) => sent)).toEqual([undefined, undefined]);
		await diplomat.close();
	});

	it('has the trace state of its parent, and of a long one whole members', async () => {
		await using _otel = otelSetup();
		const { diplomat, sidecar } = await simulate();
		const long = createTraceState('a=1').set('b', 'x'.repeat(250)).set('c', 'y'.repeat(250)).set('d', 'z'.repeat(200));
		for (const traceState of [createTraceState('a=1,b=2'), long]) {
			const parent = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1, traceState };
			const within = trace.setSpanContext(context.active(), parent);
			await context.with(within, () => diplomat.request('ping', 1));
		}
		const sent = sidecar.requestsOf('ping').map((request) => request.trace?.tracestate);
		expect(sent).toEqual(['a=1,b=2', `d=${'z'.repeat(200)},c=${'y'.repeat(250)}`]);
		await diplomat.close();
	});

	it('is left out of a frame that would be too long with it, and a bad one out of every frame', async () => {
		await using _otel = otelSetup();
		const { diplomat, sidecar } = await simulate({}, { limits: { frameBytesMax: 1024 } });
		await diplomat.request('ping', 'x'.repeat(950));
		await diplomat.request('ping', 'x'.repeat(500));
		await expect(diplomat.request('ping', 'x'.repeat(1024))).rejects.toMatchObject({ code: 'FRAME_TOO_LARGE' });
		expect(sidecar.requestsOf('ping').map((request) => request.trace !== undefined)).toEqual([false, true]);
		await diplomat.close();
	});
});

describe('the durations of calls', () => {
	it('are in seconds, by method and outcome, in the buckets of the conventions', async () => {
		await using otel = otelSetup();
		const { diplomat, sidecar, clock } = await simulate({}, HOLD_PING);
		const call = diplomat.request('ping', 1);
		const late = diplomat.request('ping', 2, { timeoutMs: 300 }).catch(() => undefined);
		await settle();
		await clock.advance(200);
		sidecar.connection.reply(sidecar.requestsOf('ping')[0]?.id ?? -1, 1);
		await call;
		await clock.advance(100);
		await late;
		const durations = await otel.durations();
		expect(durations?.descriptor).toMatchObject({ name: 'rpc.client.call.duration', unit: 's' });
		const common = { 'rpc.system.name': 'spock', 'rpc.method': 'spock/ping', 'server.address': PATH };
		expect(durations?.dataPoints.map(({ attributes, value }) => [attributes, value.sum])).toEqual([
			[{ ...common, 'rpc.status_code': 'OK' }, expect.closeTo(0.2)],
			[{ ...common, 'rpc.status_code': 'TIMEOUT', 'error.type': 'TIMEOUT' }, expect.closeTo(0.3)],
		]);
		expect(durations?.dataPoints[0]?.value.buckets.boundaries).toEqual([
			0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
		]);
		await diplomat.close();
	});
});

describe('the bridge', () => {
	it('takes everything back: nothing listens, and the spans of calls in flight end', async () => {
		await using otel = otelSetup();
		const { diplomat, sidecar } = await simulate({}, HOLD_PING);
		const call = diplomat.request('ping', 1);
		await settle();
		expect(otel.spans()).toEqual([]);
		otel.bridge.dispose();
		otel.bridge.dispose();
		expect(names(otel.spans())).toEqual(['spock/ping']);
		for (const end of ['start', 'end']) {
			expect(channel(`spock:client:request:${end}`).hasSubscribers).toBe(false);
		}
		sidecar.connection.reply(sidecar.requestsOf('ping')[0]?.id ?? -1, 'late');
		expect(await call).toBe('late');
		expect((await otel.durations())?.dataPoints ?? []).toEqual([]);
		await diplomat.close();
	});

	it('refuses options that are wrong', () => {
		expect(() => instrumentDiplomat({ propagate: 'yes' as never })).toThrow(TypeError);
		expect(() => instrumentDiplomat({ ownCalls: 1 as never })).toThrow(TypeError);
		expect(() => instrumentDiplomat({ events: 'no' as never })).toThrow(TypeError);
	});
});
