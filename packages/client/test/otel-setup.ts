import { context, type Tracer } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
	AggregationTemporality,
	type HistogramMetricData,
	InMemoryMetricExporter,
	MeterProvider,
	PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
	BasicTracerProvider,
	InMemorySpanExporter,
	type ReadableSpan,
	type Sampler,
	SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { type DiplomatInstrumentation, type InstrumentOptions, instrumentDiplomat } from '@spock/client/otel';

/** What it is told. */
export interface OtelSetup extends AsyncDisposable {
	readonly bridge: DiplomatInstrumentation;
	readonly tracer: Tracer;
	/** Those that have ended. */
	spans(): readonly ReadableSpan[];
	/** The histogram of durations, as it is exported now. */
	durations(): Promise<HistogramMetricData | undefined>;
}

/** The real SDK, which keeps what it is told in memory, and a bridge to it. Disposing it takes all of it back. */
export function otelSetup(options: InstrumentOptions = {}, sampler?: Sampler): OtelSetup {
	const exporter = new InMemorySpanExporter();
	const tracerProvider = new BasicTracerProvider({
		spanProcessors: [new SimpleSpanProcessor(exporter)],
		...(sampler && { sampler }),
	});
	const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
	const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 3_600_000 });
	const meterProvider = new MeterProvider({ readers: [reader] });
	const contextManager = new AsyncLocalStorageContextManager().enable();
	context.setGlobalContextManager(contextManager);
	const bridge = instrumentDiplomat({ tracerProvider, meterProvider, ...options });
	return {
		bridge,
		tracer: tracerProvider.getTracer('test'),
		spans: () => exporter.getFinishedSpans(),
		durations: async () => {
			metricExporter.reset();
			await reader.forceFlush();
			const [metrics] = metricExporter.getMetrics();
			const all = metrics?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
			return all.find(({ descriptor }) => descriptor.name === 'rpc.client.call.duration') as HistogramMetricData;
		},
		[Symbol.asyncDispose]: async () => {
			bridge.dispose();
			context.disable();
			await Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()]);
		},
	};
}
