import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import {
	type Attributes,
	type Context,
	context,
	isSpanContextValid,
	type MeterProvider,
	metrics,
	ROOT_CONTEXT,
	type Span,
	SpanKind,
	SpanStatusCode,
	type TracerProvider,
	trace,
} from '@opentelemetry/api';
import { funcNames, TRACE_STATE_LENGTH_MAX, type TraceContext } from '@spock/protocol';
import { booleanOption } from '@spock/protocol/internal';
import type { SocketAddress } from '@spock/protocol/node';

import type { RequestEndMessage, RequestMessage, RequestStartMessage } from './foundation/diagnostics.ts';
import { CLIENT_VERSION } from './foundation/version.ts';
import { reportEvents } from './otel-events.ts';

// By the semantic conventions for RPC, which are a release candidate; names and values are those of version 1.45.
// https://opentelemetry.io/docs/specs/semconv/rpc/rpc-spans/ https://opentelemetry.io/docs/specs/semconv/rpc/rpc-metrics/
const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.45.0';
const SYSTEM = 'spock';
const DURATION_METRIC = 'rpc.client.call.duration';
/** The boundaries that the conventions advise, in seconds. A view sets others. */
const DURATION_BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const START = 'spock:client:request:start';
const END = 'spock:client:request:end';
const MS_PER_SECOND = 1000;
/** What the conventions call a method that is none of the interface: names that an app makes up must not become labels. */
const OTHER = '_OTHER';
const known: ReadonlySet<string> = new Set(funcNames);

/** Options of {@link instrumentDiplomat}. */
export interface InstrumentOptions {
	/** Makes the spans. Default: the global one. */
	readonly tracerProvider?: TracerProvider;
	/** Takes the durations. Default: the one that is global when this is called. */
	readonly meterProvider?: MeterProvider;
	/**
	 * Whether requests carry their trace to the sidecar, which logs it with requests that fail or are slow, and events to their
	 * consumers. Default true.
	 */
	readonly propagate?: boolean;
	/**
	 * Whether what clients ask for themselves is reported too (hello, pings, subscriptions made again), as traces of its own.
	 * Default false.
	 */
	readonly ownCalls?: boolean;
	/** Whether events have spans too, of their emission and of their handlers. Default true. */
	readonly events?: boolean;
}

/** Reports until it is disposed of. */
export interface DiplomatInstrumentation extends Disposable {
	/** Takes everything back: nothing is listened to any more, and spans of calls in flight end now. Idempotent. */
	dispose(): void;
}

interface OpenCall {
	readonly span: Span;
	/** Where the call was made, with its span. */
	readonly within: Context;
}

/**
 * Reports the calls of every client in this process to OpenTelemetry: a span of the kind CLIENT for each call to a sidecar, its
 * parent the span in which the call was made, and the metric `rpc.client.call.duration`. A lookup that is answered from the
 * snapshot in this process is no call and has neither: it takes less time than a span. Events have a span of the kind PRODUCER when
 * they are emitted, and one of the kind CONSUMER, linked to it, for each run of a handler. Call it once, after the SDK is set up.
 * Throws a TypeError for a wrong option.
 */
export function instrumentDiplomat(options: InstrumentOptions = {}): DiplomatInstrumentation {
	const { tracerProvider = trace.getTracerProvider(), meterProvider = metrics.getMeterProvider() } = options;
	const propagate = booleanOption('propagate', options.propagate ?? true);
	const ownCalls = booleanOption('ownCalls', options.ownCalls ?? false);
	const events = booleanOption('events', options.events ?? true);
	const slash = CLIENT_VERSION.lastIndexOf('/');
	const [name, version] = [CLIENT_VERSION.slice(0, slash), CLIENT_VERSION.slice(slash + 1)];
	const tracer = tracerProvider.getTracer(name, version, { schemaUrl: SCHEMA_URL });
	const durations = meterProvider.getMeter(name, version, { schemaUrl: SCHEMA_URL }).createHistogram(DURATION_METRIC, {
		unit: 's',
		description: 'Measures the duration of an outgoing Remote Procedure Call (RPC).',
		advice: { explicitBucketBoundaries: DURATION_BOUNDARIES },
	});
	const open = new Map<object, OpenCall>();
	const stopEvents = events ? reportEvents({ tracer, traceOf: propagate ? traceOf : () => undefined }) : undefined;

	const onStart = (published: unknown): void => {
		const message = published as RequestStartMessage;
		const { call, func, own } = message;
		if (own && !ownCalls) return;
		// The client's own calls run in the context in which it was connected, which they do not belong to.
		const parent = own ? ROOT_CONTEXT : context.active();
		const kind = kindOf(message);
		const span = tracer.startSpan(kind.name, { kind: SpanKind.CLIENT, attributes: kind.spanAttributes }, parent);
		if (!known.has(func)) span.setAttribute('rpc.method_original', func);
		open.set(call, { span, within: trace.setSpan(parent, span) });
		if (propagate) message.trace = traceOf(span);
	};
	const onEnd = (published: unknown): void => {
		const message = published as RequestEndMessage;
		const ended = open.get(message.call);
		if (ended === undefined) return;
		open.delete(message.call);
		const { error, durationMs } = message;
		const { span, within } = ended;
		const outcome = outcomeAttributes(message);
		span.setAttributes(outcome);
		if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
		span.end();
		durations.record(durationMs / MS_PER_SECOND, { ...kindOf(message).attributes, ...outcome }, within);
	};
	const dispose = (): void => {
		stopEvents?.();
		unsubscribe(START, onStart);
		unsubscribe(END, onEnd);
		for (const { span } of open.values()) span.end();
		open.clear();
	};
	subscribe(END, onEnd);
	subscribe(START, onStart);
	return { dispose, [Symbol.dispose]: dispose };
}

/** What is said of every call of one function to one sidecar; made once. */
interface CallKind {
	readonly name: string;
	/** What spans and metrics have in common from the start. */
	readonly attributes: Attributes;
	readonly spanAttributes: Attributes;
}

const kinds = new WeakMap<SocketAddress, Map<string, CallKind>>();

function kindOf({ func, server }: RequestMessage): CallKind {
	const method = known.has(func) ? func : OTHER;
	let ofServer = kinds.get(server);
	if (ofServer === undefined) {
		ofServer = new Map();
		kinds.set(server, ofServer);
	}
	let kind = ofServer.get(method);
	if (kind === undefined) {
		kind = makeKind(method, server);
		ofServer.set(method, kind);
	}
	return kind;
}

function makeKind(method: string, server: SocketAddress): CallKind {
	const name = method === OTHER ? SYSTEM : `${SYSTEM}/${method}`;
	const place: Attributes =
		'path' in server
			? { 'server.address': server.path }
			: { 'server.address': server.host, 'server.port': server.port };
	const attributes = { 'rpc.system.name': SYSTEM, 'rpc.method': method === OTHER ? OTHER : name, ...place };
	// Behind a host name there may be several addresses; at a path there is one.
	const peer: Attributes = 'path' in server ? { 'network.peer.address': server.path } : {};
	return { name, attributes: Object.freeze(attributes), spanAttributes: Object.freeze({ ...attributes, ...peer }) };
}

/** How it ended: every code but `ok` is an error. */
function outcomeAttributes({ code }: RequestEndMessage): Attributes {
	return code === 'ok' ? { 'rpc.status_code': 'OK' } : { 'rpc.status_code': code, 'error.type': code };
}

/** The span as a frame says it; undefined where nothing is traced, as without an SDK. */
function traceOf(span: Span): TraceContext | undefined {
	const spanContext = span.spanContext();
	if (!isSpanContextValid(spanContext)) return undefined;
	const { traceId, spanId, traceFlags, traceState } = spanContext;
	const flags = (traceFlags & 0xff).toString(16).padStart(2, '0');
	return { traceparent: `00-${traceId}-${spanId}-${flags}`, tracestate: shortened(traceState?.serialize()) };
}

/** As much of a trace state as a frame may have, in whole members: the last ones are the oldest. */
function shortened(state: string | undefined): string | undefined {
	if (state === undefined || state === '') return undefined;
	if (state.length <= TRACE_STATE_LENGTH_MAX) return state;
	const end = state.lastIndexOf(',', TRACE_STATE_LENGTH_MAX);
	return end === -1 ? undefined : state.slice(0, end);
}
