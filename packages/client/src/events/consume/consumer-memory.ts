import type { DeliveredEvent } from '@spock/protocol';

/** Least number of acks that are remembered of a group. */
const ACKS_MIN = 1024;
/** Acks that are remembered of a reader without a group: those above the oldest event that it has not acked. */
const READER_ACKS_MAX = 16_384;

/** An event that was acked: as it was delivered then. */
interface Acked {
	readonly delivery: number;
	readonly time: number;
	/** The sidecar's process. */
	readonly instance: string | null;
}

/**
 * What one consumer knows of events beyond a connection. An ack that was lost with its connection brings its event again, which the app
 * has done already: it is acked once more and not handed out. A reader without a group is forgotten by the sidecar with its connection,
 * so its place is here alone.
 */
export class ConsumerMemory {
	readonly #isReader: boolean;
	readonly #acksMax: number;
	/** By position, the oldest ack first. */
	readonly #acked = new Map<number, Acked>();
	/** Of a reader: delivered, and not done. */
	readonly #undone = new Set<number>();
	/** Of a reader: behind the last one delivered; undefined before it was opened. */
	#next: number | undefined;

	constructor({ group, inFlightMax }: { readonly group?: string; readonly inFlightMax: number }) {
		this.#isReader = group === undefined;
		// Unless the sidecar was killed before it had stored them, no more acks than that can be on their way.
		this.#acksMax = this.#isReader ? READER_ACKS_MAX : Math.max(ACKS_MIN, 2 * inFlightMax);
	}

	/** Where a reader goes on; undefined for one that was never opened, and for a group, whose place the sidecar knows. */
	get place(): number | undefined {
		let place = this.#next;
		for (const position of this.#undone) place = Math.min(place ?? position, position);
		return place;
	}

	/** The sidecar has opened it here: what is below is done for good. */
	opened(position: number): void {
		if (this.#isReader) this.#next ??= position;
		for (const known of this.#acked.keys()) if (known < position) this.#acked.delete(known);
	}

	delivered({ position }: DeliveredEvent): void {
		if (!this.#isReader) return;
		this.#undone.add(position);
		this.#next = Math.max(this.#next ?? 0, position + 1);
	}

	/** It was acked, or given up. */
	done({ position, time, delivery }: DeliveredEvent, instance: string | null): void {
		this.#undone.delete(position);
		this.#acked.delete(position);
		this.#acked.set(position, { time, delivery, instance });
		if (this.#acked.size <= this.#acksMax) return;
		for (const oldest of this.#acked.keys()) {
			this.#acked.delete(oldest);
			break;
		}
	}

	/**
	 * True if it was acked, and comes again because the sidecar has not heard that. The time tells it from an event of another log that
	 * has its position; the number of its delivery from one that a group gets again because it was rewound, which only holds within
	 * one process of the sidecar: the next one counts anew.
	 */
	isDone({ position, time, delivery }: DeliveredEvent, instance: string | null): boolean {
		const acked = this.#acked.get(position);
		if (acked === undefined || acked.time !== time) return false;
		return acked.instance !== instance || delivery > acked.delivery;
	}
}
