import type { DeliveredEvent } from '@spock/protocol';

import {
	type EventHandleEndMessage,
	type EventHandleStartMessage,
	type EventMessage,
	eventAckedChannel,
	eventDeadChannel,
	eventDeliveredChannel,
	eventHandleEndChannel,
	eventHandleStartChannel,
	eventNackedChannel,
} from '../../foundation/event-diagnostics.ts';
import {
	type ConsumerClosedMessage,
	type ConsumerMessage,
	type ConsumerOpenedMessage,
	consumerClosedChannel,
	consumerOpenedChannel,
} from './consumer-diagnostics.ts';
import { eventId, type Settlement } from './received-event.ts';

/** Publishes what happens to one consumer, on channels that have a subscriber. */
export class ConsumerReport {
	readonly #of: ConsumerMessage;
	#wasOpen = false;

	constructor({ stream, group = null }: { readonly stream: string; readonly group?: string | null }) {
		this.#of = { stream, group };
	}

	opened(position: number): void {
		const again = this.#wasOpen;
		this.#wasOpen = true;
		if (!consumerOpenedChannel.hasSubscribers) return;
		const message: ConsumerOpenedMessage = { ...this.#of, position, again };
		consumerOpenedChannel.publish(message);
	}

	closed(error: Error | undefined, opensAgain: boolean): void {
		if (!consumerClosedChannel.hasSubscribers) return;
		const message: ConsumerClosedMessage = { ...this.#of, error: error ?? null, opensAgain };
		consumerClosedChannel.publish(message);
	}

	delivered(event: DeliveredEvent): void {
		if (eventDeliveredChannel.hasSubscribers) eventDeliveredChannel.publish(this.#message(event));
	}

	settled(event: DeliveredEvent, settlement: Settlement): void {
		const { kind } = settlement;
		const channel = SETTLED[kind];
		if (!channel.hasSubscribers) return;
		const message = this.#message(event);
		if (kind === 'ack') channel.publish(message);
		else if (kind === 'nack') channel.publish({ ...message, delayMs: settlement.delayMs ?? null });
		else channel.publish({ ...message, reason: settlement.reason ?? null });
	}

	/**
	 * Runs a handler, and publishes its start and its end. It is begun in this tick.
	 *
	 * @param now Monotonic milliseconds.
	 */
	async run(event: DeliveredEvent, now: () => number, handler: () => unknown): Promise<void> {
		if (!eventHandleStartChannel.hasSubscribers && !eventHandleEndChannel.hasSubscribers) {
			await handler();
			return;
		}
		const message = { ...this.#message(event), run: {} };
		const start: EventHandleStartMessage = { ...message, within: undefined };
		const startedMs = now();
		let error: unknown;
		try {
			await eventHandleStartChannel.runStores(start, () => (start.within ? start.within(handler) : handler()));
		} catch (cause) {
			error = cause;
			throw cause;
		} finally {
			const end: EventHandleEndMessage = { ...message, durationMs: Math.max(0, now() - startedMs), error };
			eventHandleEndChannel.publish(end);
		}
	}

	#message(delivered: DeliveredEvent): EventMessage {
		const { position, delivery, event } = delivered;
		const { key = null, traceparent = null } = event;
		return { ...this.#of, position, id: eventId(delivered), delivery, key, traceparent };
	}
}

const SETTLED = { ack: eventAckedChannel, nack: eventNackedChannel, term: eventDeadChannel } as const;
