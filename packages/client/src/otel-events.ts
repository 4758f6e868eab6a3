import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import {
	type Attributes,
	context,
	isSpanContextValid,
	type Link,
	ROOT_CONTEXT,
	type Span,
	SpanKind,
	SpanStatusCode,
	type Tracer,
	trace,
} from '@opentelemetry/api';
import type { TraceContext } from '@spock/protocol';
import { isError } from '@spock/protocol/internal';
import type {
	EventEmittedMessage,
	EventHandleEndMessage,
	EventHandleStartMessage,
} from './foundation/event-diagnostics.ts';

// By the semantic conventions for messaging, which are in development; names and values are those of version 1.41.
// https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/
const SYSTEM = 'spock';
const EMITTED = 'spock:client:event:emitted';
const START = 'spock:client:event:handle:start';
const END = 'spock:client:event:handle:end';

/** What events are reported with. */
export interface EventSpansOptions {
	readonly tracer: Tracer;
	/** What an event carries to its consumers; undefined where nothing is traced. */
	readonly traceOf: (span: Span) => TraceContext | undefined;
}

/**
 * A span of the kind PRODUCER for each event that is emitted or published: it ends when the event is about to be accepted. And one of
 * the kind CONSUMER for each run of a handler, linked to the former: a trace of its own, because the event may come again, and late. Returns
 * what takes it back: spans of handlers that run end then.
 */
export function reportEvents({ tracer, traceOf }: EventSpansOptions): () => void {
	const open = new Map<object, Span>();

	const onEmitted = (published: unknown): void => {
		const message = published as EventEmittedMessage;
		const { producer, stream, id } = message;
		const attributes = { ...attributesOf('send', stream, id), 'messaging.client.id': producer };
		const span = tracer.startSpan(`send ${stream}`, { kind: SpanKind.PRODUCER, attributes });
		message.trace ??= traceOf(span);
		span.end();
	};
	const onStart = (published: unknown): void => {
		const message = published as EventHandleStartMessage;
		const { stream, id, group, traceparent, run } = message;
		const attributes = attributesOf('process', stream, id);
		if (group !== null) attributes['messaging.consumer.group.name'] = group;
		const options = { kind: SpanKind.CONSUMER, attributes, links: linksTo(traceparent) };
		const span = tracer.startSpan(`process ${stream}`, options, ROOT_CONTEXT);
		open.set(run, span);
		const within = trace.setSpan(ROOT_CONTEXT, span);
		message.within = (handler) => context.with(within, handler);
	};
	const onEnd = (published: unknown): void => {
		const { run, error } = published as EventHandleEndMessage;
		const span = open.get(run);
		if (span === undefined) return;
		open.delete(run);
		if (error !== undefined) {
			const cause: Error & { readonly code?: unknown } = isError(error) ? error : new Error(String(error));
			const { code, name, message } = cause;
			span.setAttribute('error.type', typeof code === 'string' ? code : name);
			span.setStatus({ code: SpanStatusCode.ERROR, message });
		}
		span.end();
	};
	subscribe(EMITTED, onEmitted);
	subscribe(END, onEnd);
	subscribe(START, onStart);
	return () => {
		unsubscribe(EMITTED, onEmitted);
		unsubscribe(START, onStart);
		unsubscribe(END, onEnd);
		for (const span of open.values()) span.end();
		open.clear();
	};
}

function attributesOf(operation: 'send' | 'process', stream: string, id: string | null): Attributes {
	return {
		'messaging.system': SYSTEM,
		'messaging.operation.name': operation,
		'messaging.operation.type': operation,
		'messaging.destination.name': stream,
		...(id !== null && { 'messaging.message.id': id }),
	};
}

/** A link to the span that is named by a traceparent; none for one of another form. */
function linksTo(traceparent: string | null): Link[] {
	const [, traceId = '', spanId = '', flags = ''] = traceparent?.split('-') ?? [];
	const linked = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
	return isSpanContextValid(linked) ? [{ context: linked }] : [];
}
