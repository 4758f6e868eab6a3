/** One state of one thing in the registry. */
export interface ItemVersion<V> {
	/** Counts the states of all things together: no two are equal, and later ones are greater. */
	readonly number: number;
	readonly value: V;
	readonly fromMs: number;
}

/** One thing that the registry knows: a service with its instances, or a key with its value. */
export class RegistryItem<V> {
	readonly name: string;
	readonly versions: ItemVersion<V>[] = [];
	/** What a blocking query compares with; it may be moved back. */
	index = 1;
	readonly #held = new Set<() => void>();

	constructor(name: string, first: ItemVersion<V>) {
		this.name = name;
		this.versions.push(first);
	}

	get current(): ItemVersion<V> {
		return this.versions.at(-1) as ItemVersion<V>;
	}

	/** Queries that wait for a change. */
	get heldQueries(): number {
		return this.#held.size;
	}

	byNumber(number: number): ItemVersion<V> | undefined {
		return this.versions.find((version) => version.number === number);
	}

	/** A new state, which every query that waits is answered with if its index has passed. */
	change(version: ItemVersion<V>, index: number): void {
		this.versions.push(version);
		this.index = index;
		this.wake();
	}

	/** Looks at all queries that wait. */
	wake(): void {
		for (const look of [...this.#held]) look();
	}

	/** `look` is called at every change. Gives a function that ends that. */
	hold(look: () => void): () => void {
		this.#held.add(look);
		return () => this.#held.delete(look);
	}
}
