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

export const consumerOpenedChannel: Channel = channel('spock:client:consumer:opened');
export const consumerClosedChannel: Channel = channel('spock:client:consumer:closed');
