import type { Producer, StreamPlace } from './producer.ts';

const FIRST_ROOM = 1024;

/** Takes a `seq` that is on disk. `place` is undefined for one that is no event. */
export type PendingSink = (producer: Producer, seq: number, place: StreamPlace | undefined, bytes: number) => void;

/**
 * Records of producers that are not on disk yet, in the order of the log: a ring of columns, so that an event costs no object. Its
 * length is bounded by the windows and by what is read beyond them.
 */
export class PendingEvents {
	#positions = new Float64Array(FIRST_ROOM);
	#seqs = new Float64Array(FIRST_ROOM);
	#sizes = new Float64Array(FIRST_ROOM);
	#producers: (Producer | undefined)[] = new Array<undefined>(FIRST_ROOM).fill(undefined);
	#places: (StreamPlace | undefined)[] = new Array<undefined>(FIRST_ROOM).fill(undefined);
	#head = 0;
	#count = 0;
	/** Of the texts of all of them. */
	bytes = 0;

	get count(): number {
		return this.#count;
	}

	push(position: number, producer: Producer, seq: number, place: StreamPlace | undefined, bytes: number): void {
		if (this.#count === this.#positions.length) this.#grow();
		const index = (this.#head + this.#count) & (this.#positions.length - 1);
		this.#positions[index] = position;
		this.#seqs[index] = seq;
		this.#sizes[index] = bytes;
		this.#producers[index] = producer;
		this.#places[index] = place;
		this.#count++;
		this.bytes += bytes;
	}

	/** Gives away those whose position is below, oldest first. */
	takeBelow(persisted: number, sink: PendingSink): void {
		const mask = this.#positions.length - 1;
		while (this.#count > 0) {
			const index = this.#head;
			if ((this.#positions[index] as number) >= persisted) return;
			const bytes = this.#sizes[index] as number;
			const producer = this.#producers[index] as Producer;
			const place = this.#places[index];
			this.#producers[index] = undefined;
			this.#places[index] = undefined;
			this.#head = (index + 1) & mask;
			this.#count--;
			this.bytes -= bytes;
			sink(producer, this.#seqs[index] as number, place, bytes);
		}
	}

	#grow(): void {
		const length = this.#positions.length;
		const unrolled = (column: Float64Array): Float64Array<ArrayBuffer> => {
			const wide = new Float64Array(2 * length);
			wide.set(column.subarray(this.#head), 0);
			wide.set(column.subarray(0, this.#head), length - this.#head);
			return wide;
		};
		const room = new Array<undefined>(length).fill(undefined);
		const head = this.#head;
		this.#positions = unrolled(this.#positions);
		this.#seqs = unrolled(this.#seqs);
		this.#sizes = unrolled(this.#sizes);
		this.#producers = [...this.#producers.slice(head), ...this.#producers.slice(0, head), ...room];
		this.#places = [...this.#places.slice(head), ...this.#places.slice(0, head), ...room];
		this.#head = 0;
	}
}
