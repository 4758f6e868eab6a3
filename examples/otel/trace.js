// Looks services up and publishes an event within a span of its own, and prints the spans and durations that the bridge to
// OpenTelemetry reports. A real app sets up its SDK with exporters of its own; the bridge is the one line with `instrumentDiplomat`.
//   node examples/otel/trace.js [SERVICE…]
import { context, metrics, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
	AggregationTemporality,
	InMemoryMetricExporter,
	MeterProvider,
	PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';
import { instrumentDiplomat } from '@spock/client/otel';

const services = process.argv.length > 2 ? process.argv.slice(2) : ['barista', 'nobody'];

const spans = new InMemorySpanExporter();
const durations = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
const reader = new PeriodicExportingMetricReader({ exporter: durations });
const meterProvider = new MeterProvider({ readers: [reader] });
// With this, a span knows in which other one it was begun.
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
trace.setGlobalTracerProvider(tracerProvider);
metrics.setGlobalMeterProvider(meterProvider);
const instrumentation = instrumentDiplomat();

const diplomat = await connect();
const events = openEvents({ diplomat });
try {
	await trace.getTracer('example').startActiveSpan('breakfast', async (span) => {
		for (const service of services) {
			// Asked over the wire each time; without `fresh` only the first look-up of a service is a call, and has a span.
			for (let turn = 0; turn < 2; turn++) {
				await diplomat.getService(service, { fresh: true }).then(
					({ host, port }) => console.log(`${service} is at ${host}:${port}`),
					(error) => console.log(`${service}: ${error.code}`),
				);
			}
		}
		await events.publish('orders', { total: 5 });
		span.end();
	});
	// Its span is in a trace of its own, with a link to the one of `publish`: the event may be handled much later, and elsewhere.
	const stop = new AbortController();
	await events.handle('orders', { group: 'kitchen', from: 'first', signal: stop.signal }, (event) => {
		console.log(`an order of ${event.data.total}`);
		stop.abort();
	});
} finally {
	await diplomat.drain();
	instrumentation.dispose();
}

await reader.forceFlush();
const names = new Map(spans.getFinishedSpans().map((span) => [span.spanContext().spanId, span.name]));
for (const { name, parentSpanContext, attributes, links } of spans.getFinishedSpans()) {
	const outcome =
		attributes['rpc.status_code'] ?? links.map(({ context: linked }) => `linked to ${names.get(linked.spanId)}`);
	console.log(`span ${parentSpanContext ? `  ${name}` : name} ${outcome}`.trimEnd());
}
for (const { descriptor, dataPoints } of durations.getMetrics()[0].scopeMetrics[0].metrics) {
	for (const { attributes, value } of dataPoints) {
		console.log(`metric ${descriptor.name} ${attributes['rpc.status_code']}: ${value.count} calls`);
	}
}
await Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()]);
