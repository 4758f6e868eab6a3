import type { PeerId } from './peers-results.ts';

/** How an app hands over an event. */
export interface Sender {
	/** The call itself ends at once; its promise says when the app may take it for done. */
	readonly isSync: boolean;
	/** Resolves when the peer acknowledges the event; rejects when it may not be, and the app is to call again. */
	send(event: string, id: string): Promise<void>;
	/** Resolves when nothing is under way in this process any more. */
	settle(): Promise<void>;
	close(): Promise<void>;
}

/** Where a sender sends to. */
export interface SenderPlace {
	readonly peer: PeerId;
	/** `127.0.0.1:4222`, or the path of a socket. */
	readonly address: string;
}

/** The stream, and the subject, that events go to. */
export const STREAM = 'orders';

/** What the component of Dapr's daemon is called. */
export const DAPR_COMPONENT = 'events';
