import { OUTPUT_BYTES_MAX } from '@spock/protocol';

/**
 * Most bytes that are out at all consumers together. They may all be of one connection that reads nothing: so not more than one
 * connection may leave unread.
 */
export const DELIVERED_BYTES_MAX: number = OUTPUT_BYTES_MAX;
/** Of each delivery, for what stands around its text in a line: many small events must not be more than a few large ones. */
export const DELIVERY_BYTES_AROUND = 128;
/** What is left is so many times what a consumer has: of 8 MiB, the first may have nearly one, and twenty that ack nothing leave 0.8. */
const LEFT_TIMES = 8;

/**
 * What all consumers may have out together: each a part of what is left, so that those that ack nothing leave room for one that comes later; and an
 * event that is larger than its part while there is room. Equal shares would be used up by those that are there. Pure. The rule is that
 * of Choudhury and Hahne, Dynamic Queue Length Thresholds (1998).
 */
export class DeliveryCredit {
	readonly #bytesMax: number;
	#out = 0;
	/** Called once anything is given back; one for each group that was refused. */
	readonly #waiting = new Set<() => void>();

	constructor(bytesMax: number = DELIVERED_BYTES_MAX) {
		this.#bytesMax = bytesMax;
	}

	/** Bytes that are out. */
	get out(): number {
		return this.#out;
	}

	/** Whether a consumer that has so many bytes out may have these too, if they are not its first event. */
	hasShare(out: number, bytes: number): boolean {
		return LEFT_TIMES * (out + bytes) <= this.#bytesMax - (this.#out + bytes);
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
