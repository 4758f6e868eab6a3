import type { DeliveredEvent } from '@spock/protocol';

import type { Delivery } from './received-event.ts';

/**
 * The deliveries of a consumer on its present connection that are neither settled nor void: at most `inFlightMax`. Those not yet taken
 * wait in the order in which they came.
 */
export class Deliveries {
	readonly #inFlightMax: number;
	/** By position; the one that was delivered or extended longest ago first. */
	readonly #open = new Map<number, Delivery>();
	#waiting: Delivery[] = [];
	#outCount = 0;

	constructor(inFlightMax: number) {
		this.#inFlightMax = inFlightMax;
	}

	/** Those in the app's hands. */
	get outCount(): number {
		return this.#outCount;
	}

	/** Those that wait to be taken. */
	get waitingCount(): number {
		return this.#waiting.length;
	}

	/** All of them, as a copy. */
	all(): Delivery[] {
		return [...this.#open.values()];
	}

	/** The numbers of those in the app's hands. */
	handed(): number[] {
		return this.all()
			.filter(({ state }) => state === 'out')
			.map(({ delivered }) => delivered.n);
	}

	/** A copy of those that wait. */
	waiting(): Delivery[] {
		return [...this.#waiting];
	}

	/** A delivery has come. An earlier one of the same event is void: its time has run out at the sidecar. */
	add(delivery: Delivery): void {
		const { delivered } = delivery;
		const before = this.#open.get(delivered.position);
		if (before !== undefined) this.#remove(before, 'void');
		else if (this.#open.size >= this.#inFlightMax) {
			// The sidecar sends no more than that, unless the time of one has run out: of the oldest, then.
			for (const oldest of this.#open.values()) {
				this.#remove(oldest, 'void');
				break;
			}
		}
		this.#open.set(delivered.position, delivery);
		this.#waiting.push(delivery);
	}

	/** Hands out the first that waits and that the caller can use now. */
	take(isUsable: (event: DeliveredEvent) => boolean): Delivery | undefined {
		const index = this.#waiting.findIndex(({ delivered }) => isUsable(delivered));
		const delivery = this.#waiting[index];
		if (delivery === undefined) return undefined;
		this.#waiting.splice(index, 1);
		this.#handOut(delivery);
		return delivery;
	}

	/** Hands out this one, which waits. */
	takeThis(delivery: Delivery): void {
		this.#waiting = this.#waiting.filter((one) => one !== delivery);
		this.#handOut(delivery);
	}

	/** Its time begins again. */
	extend(delivery: Delivery): void {
		const { position } = delivery.delivered;
		this.#open.delete(position);
		this.#open.set(position, delivery);
	}

	/** False for a delivery that is settled or void already. */
	settle(delivery: Delivery): boolean {
		if (delivery.state !== 'out' && delivery.state !== 'waiting') return false;
		this.#remove(delivery, 'settled');
		return true;
	}

	/** The sidecar delivers all of them again. */
	voidAll(): void {
		for (const delivery of this.all()) this.#remove(delivery, 'void');
	}

	/** Those that wait are not taken any more. They stay unsettled, and use up what may be out. */
	dropWaiting(): void {
		this.#waiting = [];
	}

	#handOut(delivery: Delivery): void {
		delivery.state = 'out';
		this.#outCount++;
	}

	#remove(delivery: Delivery, state: 'settled' | 'void'): void {
		if (delivery.state === 'out') this.#outCount--;
		else this.#waiting = this.#waiting.filter((one) => one !== delivery);
		delivery.state = state;
		this.#open.delete(delivery.delivered.position);
	}
}
