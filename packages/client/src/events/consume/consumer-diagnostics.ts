import { type Channel, channel } from 'node:diagnostics_channel';

// As in foundation/diagnostics.ts: nothing is built or published while nobody has subscribed.

/** What all messages about a consumer hold. */
export interface ConsumerMessage {
	readonly stream: string;
	/** Null for a reader of its own. */
	readonly group: string | null;
}

/** `spock:client:consumer:opened`: the sidecar has opened a consumer, for the first time or again. */
export interface ConsumerOpenedMessage extends ConsumerMessage {
	/** The first position that it may get. */
	readonly position: number;
	/** True when it had been open before, on a connection that is gone. */
	readonly again: boolean;
}

/** `spock:client:consumer:closed`: it has ended, or has lost its place at the sidecar and asks for it again. */
export interface ConsumerClosedMessage extends ConsumerMessage {
	/** Null for one that was left, drained or closed by this process. */
	readonly error: Error | null;
	/** True when it is opened again as soon as that is possible. */
	readonly opensAgain: boolean;
}

/** `spock:client:event:delivered`: an event has come. `spock:client:event:acked`: its ack is on its way. */
export interface EventMessage extends ConsumerMessage {
	readonly position: number;
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

/**
 * `spock:client:event:handle:start`: a handler of `events.handle` is about to run. It is run by `runStores` of this channel, so a
 * store that is bound to it (a span, linked to `traceparent`) is the handler's.
 */
export interface HandleStartMessage extends EventMessage {
	/** The same object at the start and at the end of one run, and of no other. */
	readonly run: object;
}

/** `spock:client:event:handle:end`: it has returned or failed. Published for runs that began while this channel had a subscriber. */
export interface HandleEndMessage extends HandleStartMessage {
	readonly durationMs: number;
	/** What it rejected with; undefined when it succeeded. */
	readonly error: unknown;
}

export const consumerOpenedChannel: Channel = channel('spock:client:consumer:opened');
export const consumerClosedChannel: Channel = channel('spock:client:consumer:closed');
export const eventDeliveredChannel: Channel = channel('spock:client:event:delivered');
export const eventAckedChannel: Channel = channel('spock:client:event:acked');
export const eventNackedChannel: Channel = channel('spock:client:event:nacked');
export const eventDeadChannel: Channel = channel('spock:client:event:dead');
export const handleStartChannel: Channel = channel('spock:client:event:handle:start');
export const handleEndChannel: Channel = channel('spock:client:event:handle:end');
