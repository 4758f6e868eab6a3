/** What a link that was idle may send at once, so that timers that are late cost it nothing. */
const LATE_MS_MAX = 10;

/** The rate of a link: when a number of bytes has passed it, behind those before. */
export class LinkRate {
	#bytesPerMs: number;
	#freeAtMs = Number.NEGATIVE_INFINITY;

	constructor(bytesPerSecond: number) {
		this.#bytesPerMs = bytesPerSecond / 1000;
	}

	/** From now on. Bytes that are on their way keep their time. */
	change(bytesPerSecond: number): void {
		this.#bytesPerMs = bytesPerSecond / 1000;
	}

	/** How long bytes that are sent now take, in milliseconds. */
	delayMs(bytes: number, nowMs: number): number {
		this.#freeAtMs = Math.max(this.#freeAtMs, nowMs - LATE_MS_MAX) + bytes / this.#bytesPerMs;
		return Math.max(0, this.#freeAtMs - nowMs);
	}
}
