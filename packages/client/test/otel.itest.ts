import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { context, trace } from '@opentelemetry/api';
import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';
import { startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { otelSetup } from './otel-setup.ts';

const services = fileURLToPath(new URL('../../../examples/services.json', import.meta.url));
const local = ['--backend', 'local', '--services', services, '--log-format', 'json'];

it('a call that fails is found in the log of a real sidecar by its trace, and one that is well is not', async () => {
	await using otel = otelSetup();
	await using place = await tempSocket();
	await using sidecar = await startSidecar(place.path, local);
	const diplomat = await connect({ path: place.path, lookups: 'remote' });
	const parent = otel.tracer.startSpan('a request of the app');
	await context.with(trace.setSpan(context.active(), parent), async () => {
		expect(await diplomat.getService('barista')).toMatchObject({ host: '127.0.0.1' });
		await expect(diplomat.getService('nobody')).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
		// The same frame as the first but for its trace.
		expect(await diplomat.getService('barista')).toMatchObject({ host: '127.0.0.1' });
	});
	parent.end();
	await diplomat.drain();
	const { traceId } = parent.spanContext();
	await waitFor('the line', () => sidecar.stdout().includes(traceId));
	const lines = sidecar
		.stdout()
		.split('\n')
		.filter((line) => line.includes(traceId))
		.map((line) => JSON.parse(line) as Record<string, unknown>);
	const [well, failed, again] = otel.spans();
	expect(lines).toMatchObject([
		{ level: 'warn', func: 'getService', code: 'NO_SUCH_SERVICE', traceId, msg: 'request failed' },
	]);
	expect(lines[0]?.['traceparent']).toBe(`00-${traceId}-${failed?.spanContext().spanId}-01`);
	expect(failed?.attributes).toMatchObject({ 'error.type': 'NO_SUCH_SERVICE', 'server.address': place.path });
	for (const span of [well, again]) {
		expect(span?.parentSpanContext?.spanId).toBe(parent.spanContext().spanId);
		expect(span?.attributes).toMatchObject({ 'rpc.status_code': 'OK', 'rpc.method': 'spock/getService' });
	}
	const points = (await otel.durations())?.dataPoints ?? [];
	expect(points.map(({ attributes, value }) => [attributes['rpc.status_code'], value.count])).toEqual([
		['OK', 2],
		['NO_SUCH_SERVICE', 1],
	]);
});

it('the work of a handler is linked to the request in which its event was emitted, through a real sidecar', async () => {
	await using otel = otelSetup();
	await using place = await tempSocket();
	await using _sidecar = await startSidecar(place.path, [...local, '--events', join(dirname(place.path), 'events')]);
	const diplomat = await connect({ path: place.path });
	const events = openEvents({ diplomat });
	const parent = otel.tracer.startSpan('a request of the app');
	await context.with(trace.setSpan(context.active(), parent), () => events.publish('orders', 1, { id: 'o-7' }));
	parent.end();
	const stop = new AbortController();
	const options = { group: 'billing', from: 'first', signal: stop.signal } as const;
	await events.handle('orders', options, () => {
		otel.tracer.startSpan('bill').end();
		stop.abort();
	});
	await diplomat.drain();
	const spanOf = (name: string) => otel.spans().find((span) => span.name === name);
	const [sent, processed] = [spanOf('send orders'), spanOf('process orders')];
	expect(sent?.parentSpanContext?.spanId).toBe(parent.spanContext().spanId);
	expect(processed?.links.map((link) => link.context)).toMatchObject([
		{ traceId: parent.spanContext().traceId, spanId: sent?.spanContext().spanId },
	]);
	expect(spanOf('bill')?.parentSpanContext?.spanId).toBe(processed?.spanContext().spanId);
	for (const span of [sent, processed]) {
		expect(span?.attributes).toMatchObject({ 'messaging.destination.name': 'orders', 'messaging.message.id': 'o-7' });
	}
});
