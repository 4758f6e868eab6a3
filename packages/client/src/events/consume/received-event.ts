import type { DeliveredEvent } from '@spock/protocol';
import { durationMsOption, showAs } from '@spock/protocol/internal';

import type { EventPayload } from './event-shapes.ts';

/** One delivery, until the sidecar is told what has become of it, or does not listen to that any more. */
export interface Delivery {
	readonly delivered: DeliveredEvent;
	/** How often its group was rewound by then. */
	readonly rewinds: number;
	/**
	 * `waiting`: in this process, not yet handed to the app. `out`: in the app's hands. `settled`: acked, nacked or terminated here.
	 * `void`: the sidecar delivers it again, whatever is said of it: its connection was lost, or its time has run out.
	 */
	state: 'waiting' | 'out' | 'settled' | 'void';
}

/** What stands between an event and its delivery, which another may take the place of while the event is worked on. */
export interface DeliveryHandle {
	delivery: Delivery;
	/** True once the app has said what is to become of it, whether that had an effect or not. */
	isDecided: boolean;
}

/** After it an event is not handed out again. */
export type FinalSettlement = { readonly kind: 'ack' } | { readonly kind: 'term'; readonly reason: string | undefined };

/** What can become of a delivery. */
export type Settlement = FinalSettlement | { readonly kind: 'nack'; readonly delayMs: number | undefined };

/** Where a received event goes back to. Each returns false for a delivery that is settled or void. */
export interface DeliveryOwner {
	settle(delivery: Delivery, settlement: Settlement): boolean;
	extend(delivery: Delivery): boolean;
}

export const ACK: FinalSettlement = { kind: 'ack' };
/** Longest reason of a dead letter, in characters. */
const REASON_LENGTH_MAX = 512;

/** It can never be handled. */
export function termination(reason: string | undefined): FinalSettlement {
	return { kind: 'term', reason: reason?.slice(0, REASON_LENGTH_MAX) };
}

/** What tells an event from every other one: the id that its producer gave, else its place. */
export function eventId({ position, event }: DeliveredEvent): string {
	return event.id ?? `${event.stream}@${position}`;
}

/** An event of a stream, delivered to this process at least once. */
export class ReceivedEvent<T = unknown> {
	readonly stream: string;
	/** Events of one key keep their order where the consumer asks for that. */
	readonly key: string | undefined;
	/**
	 * The same for each delivery of this event, for what must happen once: the one that its producer gave, else `<stream>@<position>`,
	 * which is unique within the sidecar's log.
	 */
	readonly id: string;
	/** Grows from event to event; within a stream there are gaps. */
	readonly position: number;
	/** When the sidecar took it, in milliseconds since 1970. */
	readonly time: number;
	/** 1, and one more each time that it is delivered again. */
	readonly delivery: number;
	/** When it happened, by its producer's clock, in milliseconds since 1970, if that was said. */
	readonly at: number | undefined;
	/** Version of the shape of `data`, after the upgrades. */
	readonly version: number;
	readonly headers: Readonly<Record<string, string>>;
	/** Where in which trace it was made: W3C Trace Context. */
	readonly traceparent: string | undefined;
	/** The payload: a JSON value, or a Buffer for what was emitted as bytes. */
	readonly data: T;
	readonly #handle: DeliveryHandle;
	readonly #owner: DeliveryOwner;

	/** Made by a consumer. */
	constructor(handle: DeliveryHandle, payload: EventPayload, owner: DeliveryOwner) {
		const { position, time, delivery, event } = handle.delivery.delivered;
		this.stream = event.stream;
		this.key = event.key;
		this.id = eventId(handle.delivery.delivered);
		this.position = position;
		this.time = time;
		this.delivery = delivery;
		this.at = event.at;
		this.version = payload.version;
		this.headers = event.headers ?? {};
		this.traceparent = event.traceparent;
		this.data = payload.data as T;
		this.#handle = handle;
		this.#owner = owner;
	}

	/** True until it is acked, nacked or terminated, or the sidecar delivers it again whatever is said of this delivery. */
	get isOut(): boolean {
		return this.#handle.delivery.state === 'out';
	}

	/**
	 * It is done: this group does not get it again. False, and without effect, for a delivery that was settled before, or that is
	 * void (its connection was lost, its time ran out, its consumer was closed): then it is delivered again.
	 */
	ack(): boolean {
		return this.#settle(ACK);
	}

	/**
	 * Deliver it again, after `delayMs` (default: 1 s, doubled with each delivery up to 5 min, with jitter). After the last of its
	 * `attempts` it is a dead letter. False as with `ack`. Throws a RangeError for a delay that is no duration.
	 */
	nack({ delayMs }: { readonly delayMs?: number } = {}): boolean {
		if (delayMs !== undefined) durationMsOption('delayMs', delayMs, 0);
		return this.#settle({ kind: 'nack', delayMs });
	}

	/** It can never be handled: it goes to `<stream>.dead` with this reason, of which 512 characters are kept. False as with `ack`. */
	term(reason?: string): boolean {
		return this.#settle(termination(reason));
	}

	/** It needs more time: `ackWaitMs` begins again. False as with `ack`. */
	extend(): boolean {
		return this.#owner.extend(this.#handle.delivery);
	}

	#settle(settlement: Settlement): boolean {
		this.#handle.isDecided = true;
		return this.#owner.settle(this.#handle.delivery, settlement);
	}
}

// Not the payload, which may be large or a secret.
showAs(ReceivedEvent, 'ReceivedEvent', ({ stream, key, id, position, delivery, version }) => {
	return { stream, key, id, position, delivery, version };
});
