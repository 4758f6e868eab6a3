export interface Ranked {
	/** Not changed while it is in a heap. */
	rank: number;
	/** Where it is in its heap; -1 outside. The heap's own. */
	heapIndex: number;
}

/**
 * A binary heap, least rank first, from which any item can be taken: what is acked while it backs off must not stay until it is due. An item that ranks
 * last is added in one comparison, which is how events are read and how ack waits begin.
 */
export class RankedHeap<T extends Ranked> {
	readonly #items: T[] = [];

	/** The item of the least rank. */
	get first(): T | undefined {
		return this.#items[0];
	}

	items(): readonly T[] {
		return this.#items;
	}

	add(item: T): void {
		this.#items.push(item);
		this.#rise(item, this.#items.length - 1);
	}

	shift(): T | undefined {
		const [first] = this.#items;
		if (first !== undefined) this.remove(first);
		return first;
	}

	/** Does nothing for an item that is in no heap. */
	remove(item: T): void {
		const index = item.heapIndex;
		if (index === -1) return;
		item.heapIndex = -1;
		const last = this.#items.pop();
		if (last === undefined || last === item) return;
		if (last.rank < item.rank) this.#rise(last, index);
		else this.#sink(last, index);
	}

	clear(): void {
		for (const item of this.#items) item.heapIndex = -1;
		this.#items.length = 0;
	}

	#rise(item: T, from: number): void {
		let index = from;
		while (index > 0) {
			const above = (index - 1) >> 1;
			const parent = this.#items[above] as T;
			if (parent.rank <= item.rank) break;
			this.#place(parent, index);
			index = above;
		}
		this.#place(item, index);
	}

	#sink(item: T, from: number): void {
		const items = this.#items;
		let index = from;
		for (;;) {
			let below = 2 * index + 1;
			if (below >= items.length) break;
			if (below + 1 < items.length && (items[below + 1] as T).rank < (items[below] as T).rank) below++;
			const child = items[below] as T;
			if (child.rank >= item.rank) break;
			this.#place(child, index);
			index = below;
		}
		this.#place(item, index);
	}

	#place(item: T, index: number): void {
		this.#items[index] = item;
		item.heapIndex = index;
	}
}
