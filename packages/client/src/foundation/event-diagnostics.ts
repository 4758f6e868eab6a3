import { type Channel, channel } from 'node:diagnostics_channel';

import type { ErrorCode, SpockError, TraceContext } from '@spock/protocol';

// What happens to single events: `spock:client:event:*`. As in diagnostics.ts, no message is built while a channel has no subscriber.

/** `spock:client:event:emitted`: an event is about to be accepted, in the async context of its caller. */
export interface EventEmittedMessage {
	/** The name of its producer: a UUID, or the option `producer`. */
	readonly producer: string;
	readonly stream: string;
	readonly key: string | null;
	/** Null if none was given. */
	readonly id: string | null;
	/** May be set while the message is published: the event then carries its `traceparent` to its consumers. */
	trace: TraceContext | undefined;
}

/** `spock:client:event:refused`: the sidecar stores an event nowhere. */
export interface EventRefusedMessage {
	readonly producer: string;
	readonly stream: string;
	readonly seq: number;
	readonly code: ErrorCode;
	readonly error: SpockError;
}

/** `spock:client:event:delivered`: an event has come. `spock:client:event:acked`: its ack is on its way. */
export interface EventMessage {
	readonly stream: string;
	/** Of its consumer; null for a reader of its own. */
	readonly group: string | null;
	readonly position: number;
	/** As `id` of the event: the one that its producer gave, else `<stream>@<position>`. */
	readonly id: string;
	/** 1 for the first delivery. */
	readonly delivery: number;
	readonly key: string | null;
	/** Where in which trace it was made: W3C Trace Context. Null if its producer did not say it. */
	readonly traceparent: string | null;
}

/** `spock:client:event:nacked`: it was given back, to be delivered again. */
export interface EventNackedMessage extends EventMessage {
	/** Null: the sidecar's own back-off. */
	readonly delayMs: number | null;
}

/** `spock:client:event:dead`: it was given up, and goes to `<stream>.dead`. */
export interface EventDeadMessage extends EventMessage {
	readonly reason: string | null;
}

/** `spock:client:event:handle:start`: a handler of `events.handle` is about to run, with the stores that are bound to this channel. */
export interface EventHandleStartMessage extends EventMessage {
	/** The same object at the start and at the end of one run, and of no other. */
	readonly run: object;
	/** May be set while the message is published: the handler is then run by it. For a context that is no store, as of OpenTelemetry. */
	within: ((handler: () => unknown) => unknown) | undefined;
}

/** `spock:client:event:handle:end`: it has returned or failed. Published for runs that began while this channel had a subscriber. */
export interface EventHandleEndMessage extends EventMessage {
	readonly run: object;
	readonly durationMs: number;
	/** What it rejected with; undefined when it succeeded. */
	readonly error: unknown;
}

export const eventEmittedChannel: Channel = channel('spock:client:event:emitted');
export const eventRefusedChannel: Channel = channel('spock:client:event:refused');
export const eventDeliveredChannel: Channel = channel('spock:client:event:delivered');
export const eventAckedChannel: Channel = channel('spock:client:event:acked');
export const eventNackedChannel: Channel = channel('spock:client:event:nacked');
export const eventDeadChannel: Channel = channel('spock:client:event:dead');
export const eventHandleStartChannel: Channel = channel('spock:client:event:handle:start');
export const eventHandleEndChannel: Channel = channel('spock:client:event:handle:end');
