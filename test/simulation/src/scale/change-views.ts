/** When the views of one change had it: one view is what one app sees. */
export class ChangeViews {
	readonly #version: number;
	readonly #changedMs: number;
	readonly #pending: Set<number>;
	/** After the change, in virtual milliseconds, in the order in which they were. */
	readonly #seenMs: number[] = [];
	readonly #count: number;

	constructor(version: number, count: number, changedMs: number) {
		this.#version = version;
		this.#changedMs = changedMs;
		this.#count = count;
		this.#pending = new Set(Array.from({ length: count }, (_, app) => app));
	}

	saw(app: number, version: number, nowMs: number): void {
		if (version >= this.#version && this.#pending.delete(app)) this.#seenMs.push(nowMs - this.#changedMs);
	}

	get isComplete(): boolean {
		return this.#pending.size === 0;
	}

	/** After so many milliseconds this share of the views agreed; Infinity if they never did. */
	agreedMs(share: number): number {
		return this.#seenMs[Math.max(1, Math.ceil(share * this.#count)) - 1] ?? Number.POSITIVE_INFINITY;
	}
}
