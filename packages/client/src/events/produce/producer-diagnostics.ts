import { channel } from 'node:diagnostics_channel';

import type { EventWindow, SpockError } from '@spock/protocol';
import type { OutboxEvent, OutboxStateName } from './outbox-machine.ts';

// As in foundation/diagnostics.ts: nothing is built or published while nobody has subscribed.

/** What all messages about a producer hold. */
export interface ProducerMessage {
	/** Its name: a UUID, or the option `producer`. */
	readonly producer: string;
}

/** `spock:client:producer:progress`: more of its events are persisted or stored. */
export interface ProducerProgressMessage extends ProducerMessage {
	readonly persisted: number;
	/** Events that are still kept. */
	readonly kept: number;
}

/** `spock:client:producer:window`: how much may be sent and not persisted from now on; 0 while the sidecar has no room. */
export interface ProducerWindowMessage extends ProducerMessage, Pick<EventWindow, 'bytes' | 'events'> {
	/** Why it is 0; null while it is not, or for an unknown reason. */
	readonly reason: string | null;
}

/** `spock:client:producer:state`: it goes from one state of its machine to another. */
export interface ProducerStateMessage extends ProducerMessage {
	readonly from: OutboxStateName;
	readonly to: OutboxStateName;
	readonly event: OutboxEvent;
	/** Why its last attempt failed; null if none has. */
	readonly error: SpockError | null;
}

export interface Publisher<T> {
	/** True while the channel has a subscriber: check before building a message. */
	readonly hasSubscribers: boolean;
	publish(message: T): void;
}

export const producerProgressChannel: Publisher<ProducerProgressMessage> = channel('spock:client:producer:progress');
export const producerWindowChannel: Publisher<ProducerWindowMessage> = channel('spock:client:producer:window');
export const producerStateChannel: Publisher<ProducerStateMessage> = channel('spock:client:producer:state');
