import type { AckedData, EventWindowData, OpenProducerReply, SpockError, UplinkFrame } from '@spock/protocol';

import type { LogEvent } from './log-record.ts';

/** A connection of a client. */
export interface LineOrigin {
	/** The same on all connections of one client. */
	readonly client: string;
	/** Higher than that of every connection that was accepted before. */
	readonly connection: number;
}

/** The call line of a producer, for pushes. Both only write: neither calls back, neither throws. */
export interface ProducerLine {
	/** Whose connection it is; undefined where the client cannot be recognised. */
	readonly origin?: LineOrigin | undefined;
	/** Once for a commit at most. */
	acked(data: AckedData): void;
	window(data: EventWindowData): void;
}

/** What a producer's call line has opened. */
export interface OpenedProducer {
	/** Made when it is first read: then send it at once, since pushes that go on from it may follow. */
	readonly reply: OpenProducerReply;
	/** The call line has ended: no more pushes, and its ticket is void. The uplink is untouched. Idempotent. */
	closed(): void;
}

/** Reading from the connection of an uplink. */
export interface Intake {
	/** Stop reading: the producer has sent more than its window. Frames that were read already may still be given. */
	pause(): void;
	resume(): void;
}

/** A connection by which a producer's events come. Nothing is ever written to it. */
export interface Uplink {
	/** Takes a frame. `close`: the connection must be closed, and later frames are ignored. */
	frame(frame: UplinkFrame): 'go on' | 'close';
	/** The connection has ended, and every frame that came by it was given. Idempotent. */
	closed(): void;
}

/** One event on its way to a consumer. */
export interface Delivery {
	/** Names this delivery towards `ack` and the like; of this consumer alone. */
	readonly n: number;
	/** 1, and one more each time that it is delivered again. */
	readonly delivery: number;
	readonly event: LogEvent;
}

/** The connection of a consumer. Both only write: neither throws. */
export interface ConsumerSink {
	/** `rewinds`: how often the group was rewound. What was delivered with another number counts no more. */
	deliver(events: readonly Delivery[], rewinds: number): void;
	/** The consumer has ended, by no wish of its client: nothing is delivered after this. */
	closed(error: SpockError): void;
}

/** An open consumer. Unknown numbers are ignored: they were delivered again meanwhile. */
export interface Consumer {
	/** The first event that it may get. */
	readonly position: number;
	ack(n: readonly number[]): void;
	/** Deliver again after `delayMs`. Default: 1 s, doubled with each delivery up to 5 min, with jitter. */
	nack(n: readonly number[], delayMs?: number): void;
	/** Never deliver again: to the stream of the dead, with this reason. */
	term(n: readonly number[], reason?: string): void;
	/** Begins the wait for the ack anew. */
	extend(n: readonly number[]): void;
	/**
	 * What is out comes again, to another member. Of that, what is not among `handed` was never worked on, and has used up no attempt; without
	 * the list all has. Idempotent.
	 */
	close(handed?: readonly number[]): void;
}
