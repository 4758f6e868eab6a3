import type { DeliveredEvent } from '@spock/protocol';

import type { Delivery, FinalSettlement } from './received-event.ts';

/** Least number of acks that are remembered of a group. */
const ACKS_MIN = 1024;
/** Acks that are remembered of a reader without a group: those above the oldest event that it has not acked. */
const READER_ACKS_MAX = 16_384;

/** An event that is done, as it was delivered then. */
interface Done {
	readonly time: number;
	readonly rewinds: number;
	readonly settlement: FinalSettlement;
}

/**
 * What one consumer knows of events beyond a connection. An ack that was lost with its connection brings its event again, which the app
 * has done already: the same is said of it once more, and it is not handed out. A reader without a group is forgotten by the sidecar with its connection,
 * so its place is here alone.
 */
export class ConsumerMemory {
	readonly #isReader: boolean;
	readonly #acksMax: number;
	/** By position, what was settled longest ago first. */
	readonly #done = new Map<number, Done>();
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

	/** The sidecar has opened it here. */
	opened(position: number): void {
		if (this.#isReader) this.#next ??= position;
	}

	delivered({ position }: DeliveredEvent): void {
		if (!this.#isReader) return;
		this.#undone.add(position);
		this.#next = Math.max(this.#next ?? 0, position + 1);
	}

	/** It is a dead letter if the sidecar has heard of its last failure; else it comes again. */
	passed({ position }: DeliveredEvent): void {
		this.#undone.delete(position);
	}

	/** It is done, or can never be. */
	settled({ delivered, rewinds }: Delivery, settlement: FinalSettlement): void {
		const { position, time } = delivered;
		this.passed(delivered);
		this.#done.delete(position);
		this.#done.set(position, { time, rewinds, settlement });
		if (this.#done.size <= this.#acksMax) return;
		const [oldest] = this.#done.keys();
		this.#done.delete(oldest as number);
	}

	/**
	 * What was said of it, if it comes again because the sidecar has not heard or not stored that. The time tells it from an event of
	 * another log that has its position; a group that was rewound since gets it because somebody wants it again.
	 */
	recall({ delivered, rewinds }: Delivery): FinalSettlement | undefined {
		const done = this.#done.get(delivered.position);
		return done?.time === delivered.time && done.rewinds === rewinds ? done.settlement : undefined;
	}
}
