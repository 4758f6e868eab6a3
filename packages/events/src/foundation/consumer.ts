import type { SpockError } from '@spock/protocol';

import type { LogEvent } from './log-record.ts';

/** One event on its way to a consumer. */
export interface Delivery {
	/** Names this delivery towards `ack` and the like; of this consumer alone, from 1. */
	readonly n: number;
	/** 1, and one more each time that the event is delivered again. Counted since the sidecar's start. */
	readonly delivery: number;
	readonly event: LogEvent;
}

/** Where a consumer's events go. Neither method may throw, and none is called after `closed`, or after the consumer's `close`. */
export interface ConsumerSink {
	deliver(events: readonly Delivery[]): void;
	/** The consumer has ended, by no wish of its own: what it had is delivered again, to another one or to the next. */
	closed(error: SpockError): void;
}

/**
 * One consumer of a stream. Its methods take the numbers of deliveries and ignore those that no longer count: an event that is done, or
 * whose next delivery has begun.
 */
export interface Consumer {
	/** The first event that it may get. */
	readonly position: number;
	ack(n: readonly number[]): void;
	/** Deliver again, after `delayMs`. Default: 1 s, doubled with each delivery up to 5 min, with jitter. */
	nack(n: readonly number[], delayMs?: number): void;
	/** Never deliver again: each becomes a dead letter. */
	term(n: readonly number[], reason?: string): void;
	/** Starts the ack wait of each anew. */
	extend(n: readonly number[]): void;
	/** Gives back what it has. Idempotent. */
	close(): void;
}
