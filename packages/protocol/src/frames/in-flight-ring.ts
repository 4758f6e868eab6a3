import { IN_FLIGHT_MAX } from '../foundation/limits.ts';
import { isInteger } from '../foundation/values.ts';

/** Slots before the first growth: an idle client stays small, a busy one stays in the processor's cache. */
const SLOTS_INITIAL = 64;

/** Options of {@link InFlightRing}. */
export interface InFlightRingOptions {
	/** Most entries at once; a power of two, 1 to 2^31. Default 65536. */
	readonly capacity?: number;
	/** The first id to give out, 0 to 4294967295. Default 1; tests start just below the wrap. */
	readonly firstId?: number;
}

/**
 * The requests in flight on one connection. An entry sits at `id & (slots − 1)` and is found again only by its whole id:
 *
 * ```
 *   id counter ──► 4294967295 │ 0 │ 1 │ 2 …            wraps after 2^32 ids
 *   slots          ├──┬──┬──┬──┤  id & (slots − 1)      a busy slot is skipped, never overwritten
 *                  │  │ 6│  │ 3│  take(2) ≠ 6: undefined  a late reply finds no entry
 * ```
 *
 * The ring starts small and doubles up to `capacity`. Doubling keeps every entry reachable: two ids that differ modulo
 * the old number of slots also differ modulo the new one.
 */
export class InFlightRing<T> {
	readonly capacity: number;
	#ids: Uint32Array;
	#entries: (T | undefined)[];
	#mask: number;
	#nextId: number;
	#size = 0;

	constructor(options: InFlightRingOptions = {}) {
		const { capacity = IN_FLIGHT_MAX, firstId = 1 } = options;
		if (!isInteger(capacity, 1, 2 ** 31) || !Number.isInteger(Math.log2(capacity))) {
			throw new RangeError(`capacity must be a power of two from 1 to 2147483648, not ${capacity}`);
		}
		const slots = Math.min(SLOTS_INITIAL, capacity);
		this.capacity = capacity;
		this.#mask = slots - 1;
		this.#ids = new Uint32Array(slots);
		this.#entries = new Array<T | undefined>(slots).fill(undefined);
		this.#nextId = firstId >>> 0;
	}

	/** Entries in flight. */
	get size(): number {
		return this.#size;
	}

	/** Slots held now; at most `capacity`. */
	get slots(): number {
		return this.#mask + 1;
	}

	/** Puts an entry into the next free slot and gives it an id; -1 when `capacity` entries are in flight. */
	issue(entry: T): number {
		// At most half full, so that a free slot is one or two steps away even after long calls.
		if (this.#size * 2 >= this.slots) this.#grow();
		if (this.#size >= this.slots) return -1;
		let id = this.#nextId;
		let slot = id & this.#mask;
		while (this.#entries[slot] !== undefined) {
			id = (id + 1) >>> 0;
			slot = id & this.#mask;
		}
		this.#nextId = (id + 1) >>> 0;
		this.#ids[slot] = id;
		this.#entries[slot] = entry;
		this.#size++;
		return id;
	}

	/** The entry with this id, without freeing its slot. */
	peek(id: number): T | undefined {
		const slot = id & this.#mask;
		return this.#ids[slot] === id ? this.#entries[slot] : undefined;
	}

	/** Frees the slot of this id and returns its entry; undefined where no entry has this id (any more). */
	take(id: number): T | undefined {
		const slot = id & this.#mask;
		const entry = this.#entries[slot];
		if (entry === undefined || this.#ids[slot] !== id) return undefined;
		this.#entries[slot] = undefined;
		this.#size--;
		return entry;
	}

	/** Frees every slot whose entry `leaves` accepts. `leaves` must not touch the ring. */
	takeWhere(leaves: (entry: T, id: number) => boolean): T[] {
		const taken: T[] = [];
		for (let slot = 0; slot <= this.#mask && this.#size > 0; slot++) {
			const entry = this.#entries[slot];
			if (entry !== undefined && leaves(entry, this.#ids[slot] as number)) {
				this.#entries[slot] = undefined;
				this.#size--;
				taken.push(entry);
			}
		}
		return taken;
	}

	/** Frees every slot. */
	takeAll(): T[] {
		return this.takeWhere(() => true);
	}

	#grow(): void {
		if (this.slots >= this.capacity) return;
		const slots = this.slots * 2;
		const ids = new Uint32Array(slots);
		const entries = new Array<T | undefined>(slots).fill(undefined);
		for (let slot = 0; slot <= this.#mask; slot++) {
			const entry = this.#entries[slot];
			if (entry === undefined) continue;
			const id = this.#ids[slot] as number;
			ids[id & (slots - 1)] = id;
			entries[id & (slots - 1)] = entry;
		}
		this.#ids = ids;
		this.#entries = entries;
		this.#mask = slots - 1;
	}
}
