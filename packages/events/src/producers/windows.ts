import { type EventWindow, SpockError } from '@spock/protocol';

/** All windows together. Also the most bytes that wait for the disk before uplinks are paused, whatever their windows. */
export const WINDOWS_BYTES_MAX: number = 32 * 1024 * 1024;
/** A window at first: what the buffer of a unix socket holds, so that what an app has sent survives it. */
export const WINDOW_BYTES_FIRST: number = 128 * 1024;
/** A window while the log is quick. */
export const WINDOW_BYTES_MAX: number = 1024 * 1024;
export const WINDOW_EVENTS_MAX = 4096;
/** A window has an event for so many bytes, up to the most: small windows of small events stay small. */
const BYTES_FOR_EVENT = 32;
/** A commit within this time lets windows grow; one above {@link SLOW_MS} lets them shrink. */
const QUICK_MS = 20;
const SLOW_MS = 200;
/** Windows shrink for the pace of the log at most this often. */
const SHRINK_MS = 250;
/** And grow so often: while they are small, batches are small, and most of the time goes into syncs. */
const GROW_MS = 40;
const CLOSED: EventWindow = Object.freeze({ bytes: 0, events: 0 });

export interface WindowsOptions {
	/** Planted bug: a window counts twice, so that all together may be twice as much. */
	readonly isCountedTwice?: boolean;
}

/**
 * The size of every producer's window: the same for all of them, a power of two, so that a hundred producers that come and go change
 * it seldom. Pure.
 */
export class Windows {
	readonly #total: number;
	/** What the pace of the log allows. */
	#level = WINDOW_BYTES_FIRST;
	#pacedMs = Number.NEGATIVE_INFINITY;
	#count = 0;
	/** What the number of producers allows. */
	#share = WINDOW_BYTES_MAX;
	#reason: string | null = null;
	#current: EventWindow = windowOf(WINDOW_BYTES_FIRST);

	constructor({ isCountedTwice = false }: WindowsOptions = {}) {
		this.#total = isCountedTwice ? 2 * WINDOWS_BYTES_MAX : WINDOWS_BYTES_MAX;
	}

	/** That of every producer. */
	get current(): EventWindow {
		return this.#current;
	}

	/** Why it is 0; null while it is not. */
	get reason(): string | null {
		return this.#reason;
	}

	/** So many producers have a window now. True if that changes its size. */
	counted(count: number): boolean {
		this.#count = count;
		const fair = powerOfTwoBelow(this.#total / Math.max(1, count));
		// Upwards only with room to spare, so that one that comes and goes does not change all of them each time.
		const roomy = powerOfTwoBelow(this.#total / Math.max(1, count + (count >> 2)));
		if (fair < this.#share) this.#share = fair;
		else if (roomy > this.#share) this.#share = Math.min(roomy, WINDOW_BYTES_MAX);
		return this.#resize();
	}

	/** A commit took so long. `isTight`: a producer had used more than half of its window. True if that changes its size. */
	committed(durationMs: number, isTight: boolean, nowMs: number): boolean {
		const isQuick = durationMs <= QUICK_MS && isTight;
		if (!isQuick && durationMs < SLOW_MS) return false;
		if (nowMs - this.#pacedMs < (isQuick ? GROW_MS : SHRINK_MS)) return false;
		const level = isQuick ? Math.min(WINDOW_BYTES_MAX, 2 * this.#level) : Math.max(WINDOW_BYTES_FIRST, this.#level / 2);
		if (level === this.#level || (isQuick && level > this.#share)) return false;
		this.#pacedMs = nowMs;
		this.#level = level;
		return this.#resize();
	}

	/** Closes all windows for a reason, or opens them: null. True if anything changes. */
	setReason(reason: string | null): boolean {
		if (reason === this.#reason) return false;
		this.#reason = reason;
		this.#resize();
		return true;
	}

	/** Throws UNAVAILABLE while the windows are closed. */
	requireOpen(): void {
		const reason = this.#reason;
		if (reason === null) return;
		const message = `no events are taken now: ${reason}`;
		throw new SpockError('UNAVAILABLE', message, { details: { reason }, isStackless: true });
	}

	/** Of all windows that are granted now. */
	get grantedBytes(): number {
		return this.#count * this.#current.bytes;
	}

	#resize(): boolean {
		const bytes = this.#reason === null ? Math.min(this.#level, this.#share) : 0;
		if (bytes === this.#current.bytes) return false;
		this.#current = bytes === 0 ? CLOSED : windowOf(bytes);
		return true;
	}
}

function windowOf(bytes: number): EventWindow {
	return Object.freeze({
		bytes,
		events: Math.min(WINDOW_EVENTS_MAX, Math.max(1, Math.floor(bytes / BYTES_FOR_EVENT))),
	});
}

function powerOfTwoBelow(value: number): number {
	return 2 ** Math.floor(Math.log2(value));
}
