/** Acknowledges in groups: one sync for all that came while the one before ran. */
export class GroupCommit<T> {
	readonly #sync: (group: readonly T[]) => Promise<void>;
	readonly #synced: (group: readonly T[]) => void;
	#waiting: T[] = [];
	#isRunning = false;

	/** `sync` must not reject; `synced` is called with each group, in order. */
	constructor(sync: (group: readonly T[]) => Promise<void>, synced: (group: readonly T[]) => void) {
		this.#sync = sync;
		this.#synced = synced;
	}

	add(item: T): void {
		this.#waiting.push(item);
		if (!this.#isRunning) void this.#run();
	}

	async #run(): Promise<void> {
		this.#isRunning = true;
		while (this.#waiting.length > 0) {
			const group = this.#waiting;
			this.#waiting = [];
			await this.#sync(group);
			this.#synced(group);
		}
		this.#isRunning = false;
	}
}
