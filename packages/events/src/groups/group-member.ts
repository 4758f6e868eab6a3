import type { SpockError } from '@spock/protocol';

import type { ConsumerSink, Delivery } from '../foundation/event-sessions.ts';
import { DELIVERY_BYTES_AROUND, type DeliveryCredit } from './delivery-credit.ts';
import type { GroupEvent, GroupEventHolder } from './group-event.ts';

export interface GroupMemberOptions {
	/** Most events out at it. */
	readonly inFlightMax: number;
	/** Most bytes of their texts; one event may always be out. */
	readonly bytesMax: number;
	readonly ackWaitMs: number;
	readonly sink: ConsumerSink;
	/** Shared by all consumers of all groups. */
	readonly credit: DeliveryCredit;
}

/** One consumer in its group: its credit, and which delivery each number names. */
export class GroupMember implements GroupEventHolder {
	readonly ackWaitMs: number;
	readonly #inFlightMax: number;
	readonly #bytesMax: number;
	readonly #sink: ConsumerSink;
	/** Deliveries that may be answered: what is out, and what backs off since it was out here. */
	readonly #deliveries = new Map<number, GroupEvent>();
	#batch: Delivery[] = [];
	#isStarted = false;
	#nLast = 0;
	#out = 0;
	#bytesOut = 0;
	readonly #credit: DeliveryCredit;
	/** Of the credit that is shared. */
	#creditOut = 0;
	/** The event beside which none may be out. */
	#alone: GroupEvent | undefined;

	constructor({ inFlightMax, bytesMax, ackWaitMs, sink, credit }: GroupMemberOptions) {
		this.#credit = credit;
		this.#inFlightMax = inFlightMax;
		this.#bytesMax = bytesMax;
		this.ackWaitMs = ackWaitMs;
		this.#sink = sink;
	}

	/** From now on it takes events: its opener knows of it. */
	start(): void {
		this.#isStarted = true;
	}

	/**
	 * Whether an event of so many bytes may be sent. An event that may have ended its consumers goes `alone` for the last time: those that were
	 * out beside it would otherwise become dead letters with it.
	 */
	takes(bytes: number, alone = false): boolean {
		return this.#hasPlace(bytes, alone) && this.#hasCredit(bytes);
	}

	/** Whether it could be sent if other consumers had less out. */
	waitsForCredit(bytes: number, alone = false): boolean {
		return this.#hasPlace(bytes, alone) && !this.#hasCredit(bytes);
	}

	#hasPlace(bytes: number, alone: boolean): boolean {
		if (!this.#isStarted || this.#alone !== undefined) return false;
		if (this.#out === 0) return true;
		return !alone && this.#out < this.#inFlightMax && this.#bytesOut + bytes <= this.#bytesMax;
	}

	#hasCredit(bytes: number): boolean {
		const cost = bytes + DELIVERY_BYTES_AROUND;
		if (!this.#credit.hasRoom(cost)) return false;
		return this.#out === 0 || this.#credit.hasShare(this.#creditOut, cost);
	}

	/** It has left. Called once. */
	leave(): void {
		this.reset();
	}

	/** Puts a delivery into the batch that `send` gives to the sink. */
	add(item: GroupEvent): void {
		item.holder?.forget(item);
		item.holder = this;
		item.n = ++this.#nLast;
		item.deliveries++;
		if (item.goesAlone) this.#alone = item;
		this.#deliveries.set(item.n, item);
		this.#out++;
		this.#bytesOut += item.bytes;
		this.#creditOut += item.bytes + DELIVERY_BYTES_AROUND;
		this.#credit.take(item.bytes + DELIVERY_BYTES_AROUND);
		this.#batch.push({ n: item.n, delivery: item.deliveries, event: item.event });
	}

	send(rewinds: number): void {
		if (this.#batch.length === 0) return;
		const batch = this.#batch;
		this.#batch = [];
		this.#sink.deliver(batch, rewinds);
	}

	giveCreditBack(item: GroupEvent): void {
		if (item === this.#alone) this.#alone = undefined;
		this.#out--;
		this.#bytesOut -= item.bytes;
		this.#creditOut -= item.bytes + DELIVERY_BYTES_AROUND;
		this.#credit.giveBack(item.bytes + DELIVERY_BYTES_AROUND);
	}

	/** The delivery of this number; undefined if it no longer counts. */
	find(n: number): GroupEvent | undefined {
		return this.#deliveries.get(n);
	}

	forget(item: GroupEvent): void {
		this.#deliveries.delete(item.n);
		item.holder = undefined;
	}

	/** What was delivered here and may still be answered, the oldest delivery first. */
	delivered(): readonly GroupEvent[] {
		return [...this.#deliveries.values()];
	}

	/** The group has moved: nothing that was sent counts. */
	reset(): void {
		this.#deliveries.clear();
		this.#alone = undefined;
		this.#batch = [];
		this.#out = 0;
		this.#bytesOut = 0;
		this.#credit.giveBack(this.#creditOut);
		this.#creditOut = 0;
	}

	closed(error: SpockError): void {
		this.#sink.closed(error);
	}
}
