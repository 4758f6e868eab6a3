import { channel } from 'node:diagnostics_channel';

import type { ErrorCode, EventWindow, SpockError, TraceContext } from '@spock/protocol';
import type { OutboxEvent, OutboxStateName } from './outbox-machine.ts';

// As in foundation/diagnostics.ts: nothing is built or published while nobody has subscribed.

/** What all messages about a producer hold. */
export interface ProducerMessage {
	/** Its name: a UUID, or the option `producer`. */
	readonly producer: string;
}

/** `spock:client:events:emitted`: an event is about to be accepted, in the async context of its caller. */
export interface EmittedMessage extends ProducerMessage {
	readonly stream: string;
	readonly key: string | undefined;
	readonly id: string | undefined;
	/** May be set while the message is published: the event then carries its `traceparent` to its consumers. */
	trace: TraceContext | undefined;
}

/** `spock:client:events:acked`: more events are persisted or stored. */
export interface AckedMessage extends ProducerMessage {
	readonly persisted: number;
	/** Events that are still kept. */
	readonly kept: number;
}

/** `spock:client:events:refused`: the sidecar stores an event nowhere. */
export interface RefusedMessage extends ProducerMessage {
	readonly stream: string;
	readonly seq: number;
	readonly code: ErrorCode;
	readonly error: SpockError;
}

/** `spock:client:events:window`: how much may be sent and not persisted from now on; 0 while the sidecar has no room. */
export interface EventWindowMessage extends ProducerMessage, Pick<EventWindow, 'bytes' | 'events'> {
	/** Why it is 0; null while it is not, or for an unknown reason. */
	readonly reason: string | null;
}

/** `spock:client:events:state`: a producer goes from one state of its machine to another. */
export interface ProducerStateMessage extends ProducerMessage {
	readonly from: OutboxStateName;
	readonly to: OutboxStateName;
	readonly event: OutboxEvent;
	/** Why its last attempt failed; null if none has. */
	readonly error: SpockError | null;
}

interface Publisher<T> {
	/** True while the channel has a subscriber: check before building a message. */
	readonly hasSubscribers: boolean;
	publish(message: T): void;
}

export const emittedChannel: Publisher<EmittedMessage> = channel('spock:client:events:emitted');
export const ackedChannel: Publisher<AckedMessage> = channel('spock:client:events:acked');
export const refusedChannel: Publisher<RefusedMessage> = channel('spock:client:events:refused');
export const eventWindowChannel: Publisher<EventWindowMessage> = channel('spock:client:events:window');
export const producerStateChannel: Publisher<ProducerStateMessage> = channel('spock:client:events:state');
