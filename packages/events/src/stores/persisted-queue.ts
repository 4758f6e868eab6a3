import type { SpockError } from '@spock/protocol';

interface Waiter {
	readonly position: number;
	readonly resolve: () => void;
	readonly reject: (error: SpockError) => void;
}

/** Who waits until a record is on disk. Positions are asked for in any order, mostly ascending. */
export class PersistedQueue {
	#waiters: Waiter[] = [];

	/** Resolves when `advance` has passed the position. */
	wait(position: number): Promise<void> {
		return new Promise((resolve, reject) => {
			this.#waiters.push({ position, resolve, reject });
		});
	}

	/** Every record below is on disk. */
	advance(persisted: number): void {
		if (this.#waiters.length === 0) return;
		const settled = this.#waiters.filter(({ position }) => position < persisted);
		if (settled.length === 0) return;
		this.#waiters = this.#waiters.filter(({ position }) => position >= persisted);
		for (const { resolve } of settled) resolve();
	}

	/** Nothing more gets to the disk. */
	fail(error: SpockError): void {
		for (const { reject } of this.#waiters.splice(0)) reject(error);
	}
}
