import { OUTPUT_BYTES_MAX } from '@spock/protocol';

/**
 * Most bytes that are out at all consumers together. They may all be of one connection that reads nothing: so not more than one
 * connection may leave unread.
 */
export const DELIVERED_BYTES_MAX: number = OUTPUT_BYTES_MAX;
/** Of each delivery, for what stands around its text in a line: many small events must not be more than a few large ones. */
export const DELIVERY_BYTES_AROUND = 128;

/**
 * What all consumers may have out together: each an equal share, and an event that is larger than its share while there is room. Pure.
 */
export class DeliveryCredit {
	readonly #bytesMax: number;
	#consumers = 0;
	#out = 0;
	/** Called once there is room again; one for each group that found none. */
	readonly #waiting = new Set<() => void>();

	constructor(bytesMax: number = DELIVERED_BYTES_MAX) {
		this.#bytesMax = bytesMax;
	}

	/** Bytes that are out. */
	get out(): number {
		return this.#out;
	}

	/** Of one consumer, if its first event is not larger by itself. */
	get share(): number {
		return this.#bytesMax / Math.max(1, this.#consumers);
	}

	entered(): void {
		this.#consumers++;
	}

	left(): void {
		this.#consumers--;
		this.#wake();
	}

	/** One event may always be out, or one that is larger than everything would never leave. */
	hasRoom(bytes: number): boolean {
		return this.#out === 0 || this.#out + bytes <= this.#bytesMax;
	}

	take(bytes: number): void {
		this.#out += bytes;
	}

	giveBack(bytes: number): void {
		if (bytes === 0) return;
		this.#out -= bytes;
		this.#wake();
	}

	/** `wake` is called once, when anything has been given back. */
	wait(wake: () => void): void {
		this.#waiting.add(wake);
	}

	forget(wake: () => void): void {
		this.#waiting.delete(wake);
	}

	#wake(): void {
		if (this.#waiting.size === 0) return;
		const waiting = [...this.#waiting];
		this.#waiting.clear();
		for (const wake of waiting) wake();
	}
}
