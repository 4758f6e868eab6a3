import type { Channel } from 'node:diagnostics_channel';

import type { DeliveredEvent } from '@spock/protocol';

import {
	type ConsumerClosedMessage,
	type ConsumerOpenedMessage,
	consumerClosedChannel,
	consumerOpenedChannel,
	type EventDeadMessage,
	type EventMessage,
	type EventNackedMessage,
	eventAckedChannel,
	eventDeadChannel,
	eventDeliveredChannel,
	eventNackedChannel,
	type HandleEndMessage,
	type HandleStartMessage,
	handleEndChannel,
	handleStartChannel,
} from './consumer-diagnostics.ts';
import type { Settlement } from './received-event.ts';

/** Publishes what happens to one consumer, on channels that have a subscriber. */
export class ConsumerReport {
	readonly #stream: string;
	readonly #group: string | null;
	#wasOpen = false;

	constructor({ stream, group = null }: { readonly stream: string; readonly group?: string | null }) {
		this.#stream = stream;
		this.#group = group;
	}

	opened(position: number): void {
		const again = this.#wasOpen;
		this.#wasOpen = true;
		if (!consumerOpenedChannel.hasSubscribers) return;
		const message: ConsumerOpenedMessage = { stream: this.#stream, group: this.#group, position, again };
		consumerOpenedChannel.publish(message);
	}

	closed(error: Error | undefined, opensAgain: boolean): void {
		if (!consumerClosedChannel.hasSubscribers) return;
		const message: ConsumerClosedMessage = {
			stream: this.#stream,
			group: this.#group,
			error: error ?? null,
			opensAgain,
		};
		consumerClosedChannel.publish(message);
	}

	delivered(event: DeliveredEvent): void {
		if (eventDeliveredChannel.hasSubscribers) eventDeliveredChannel.publish(this.#message(event));
	}

	settled(event: DeliveredEvent, settlement: Settlement): void {
		const channel = SETTLED[settlement.kind];
		if (!channel.hasSubscribers) return;
		const message = this.#message(event);
		if (settlement.kind === 'ack') channel.publish(message);
		else if (settlement.kind === 'nack') {
			const nacked: EventNackedMessage = { ...message, delayMs: settlement.delayMs ?? null };
			channel.publish(nacked);
		} else {
			const dead: EventDeadMessage = { ...message, reason: settlement.reason ?? null };
			channel.publish(dead);
		}
	}

	/**
	 * Runs a handler, and publishes its start and its end. It is begun in this tick.
	 *
	 * @param now Monotonic milliseconds.
	 */
	async run(event: DeliveredEvent, now: () => number, handler: () => unknown): Promise<void> {
		if (!handleStartChannel.hasSubscribers && !handleEndChannel.hasSubscribers) {
			await handler();
			return;
		}
		const start: HandleStartMessage = { ...this.#message(event), run: {} };
		const startedMs = now();
		let error: unknown;
		try {
			await handleStartChannel.runStores(start, handler);
		} catch (cause) {
			error = cause;
			throw cause;
		} finally {
			const end: HandleEndMessage = { ...start, durationMs: Math.max(0, now() - startedMs), error };
			handleEndChannel.publish(end);
		}
	}

	#message({ position, delivery, event }: DeliveredEvent): EventMessage {
		const { key = null, traceparent = null } = event;
		return { stream: this.#stream, group: this.#group, position, delivery, key, traceparent };
	}
}

const SETTLED: Readonly<Record<Settlement['kind'], Channel>> = {
	ack: eventAckedChannel,
	nack: eventNackedChannel,
	term: eventDeadChannel,
};
