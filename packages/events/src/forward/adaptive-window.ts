const KIBIBYTE = 1024;
export const WINDOW_BYTES_MIN: number = 64 * KIBIBYTE;
export const WINDOW_BYTES_MAX: number = 8 * KIBIBYTE * KIBIBYTE;
/** For so long a rate and an ack time count, and so often the pipe is looked at anew. */
const LOOK_BACK_MS = 10_000;
const BUCKET_MS = 1000;
/** So many acks in a row that take twice as long as the window explains: the pipe is another one now. */
const LATE_ACKS_MAX = 3;
/** The part of the rate by which the window may grow at once: twice the pipe, so that a faster one is found within a few acks. */
const GAIN = 2;

/** What was sent at once: given back when it is acknowledged. */
export interface SentBytes {
	readonly bytes: number;
	readonly sentMs: number;
	/** What was acknowledged in all when it was sent, and when the last of that was. */
	readonly delivered: number;
	readonly deliveredMs: number;
	readonly round: 'cruise' | 'drain' | 'probe';
}

/**
 * How many bytes may be in flight to a store: twice the best rate of the last 10 s times the least ack time of the last 10 s, within
 * 64 KiB and 8 MiB. As in BBR, of which it is a small relative: https://queue.acm.org/detail.cfm?id=3022184
 *
 * Three things beyond the formula, each of which a test needs:
 * - a window of twice the pipe always has a queue, so the least ack time would grow by that queue every 10 s. So once in 10 s what is in
 *   flight is let down to half of a pipe for one round, and that round's ack time replaces the least. The round after it has a
 *   quarter more than the window.
 * - where the ack time jumps up the old least one would throttle for 10 s. Acks that take twice as long as the window explains, three
 *   in a row, begin everything anew.
 * - an error halves it, by halving the best rate.
 *
 * Pure: time is given. Milliseconds and bytes.
 */
export class AdaptiveWindow {
	readonly #rates = new Buckets(Math.max);
	readonly #ackTimes = new Buckets(Math.min);
	#bytes = WINDOW_BYTES_MIN;
	#inFlight = 0;
	#delivered = 0;
	#deliveredMs = 0;
	#lateAcks = 0;
	#round: SentBytes['round'] = 'cruise';
	#roundMs = Number.NEGATIVE_INFINITY;

	/** Most bytes that may be in flight now. */
	get bytes(): number {
		if (this.#round === 'drain') return Math.max(WINDOW_BYTES_MIN, Math.floor(this.#bytes / (2 * GAIN)));
		const bytes = this.#round === 'probe' ? this.#bytes * 1.25 : this.#bytes;
		return Math.min(WINDOW_BYTES_MAX, Math.floor(bytes));
	}

	/** Bytes that were sent, and neither acknowledged nor forgotten. */
	get inFlight(): number {
		return this.#inFlight;
	}

	sent(bytes: number, nowMs: number): SentBytes {
		if (this.#inFlight === 0) this.#deliveredMs = nowMs;
		this.#inFlight += bytes;
		return {
			bytes,
			sentMs: nowMs,
			delivered: this.#delivered,
			deliveredMs: this.#deliveredMs,
			round: this.#round,
		};
	}

	/** A part of what was sent, or all, is acknowledged. */
	acked(sent: SentBytes, bytes: number, nowMs: number): void {
		this.#inFlight = Math.max(0, this.#inFlight - bytes);
		this.#delivered += bytes;
		this.#deliveredMs = nowMs;
		const ackMs = Math.max(0.05, nowMs - sent.sentMs);
		const elapsedMs = Math.max(ackMs, nowMs - sent.deliveredMs);
		this.#notice(ackMs, nowMs);
		this.#rates.add((this.#delivered - sent.delivered) / elapsedMs, nowMs);
		this.#ackTimes.add(ackMs, nowMs);
		this.#bytes = Math.min(WINDOW_BYTES_MAX, Math.max(WINDOW_BYTES_MIN, GAIN * this.#rates.best * this.#ackTimes.best));
		this.#turn(sent, ackMs, nowMs);
	}

	/** The store failed: nothing is in flight any more, and less will be. */
	failed(nowMs: number): void {
		this.forget();
		const { best } = this.#rates;
		this.#rates.clear();
		if (best > 0) this.#rates.add(best / 2, nowMs);
		this.#bytes = Math.max(WINDOW_BYTES_MIN, this.#bytes / 2);
		this.#round = 'cruise';
	}

	/** Nothing is in flight any more, by no fault of the store. */
	forget(): void {
		this.#inFlight = 0;
	}

	#notice(ackMs: number, nowMs: number): void {
		const rate = this.#rates.best;
		const explainedMs = this.#ackTimes.best + (rate > 0 ? this.#bytes / rate : 0);
		this.#lateAcks = rate > 0 && ackMs > 2 * explainedMs ? this.#lateAcks + 1 : 0;
		if (this.#lateAcks < LATE_ACKS_MAX) return;
		this.#lateAcks = 0;
		this.#rates.clear();
		this.#ackTimes.clear();
		this.#round = 'cruise';
		this.#roundMs = nowMs;
	}

	/** Cruise for 10 s, a round of drain, a round of probe. A round is over when something that was sent in it is acknowledged. */
	#turn(sent: SentBytes, ackMs: number, nowMs: number): void {
		if (this.#roundMs === Number.NEGATIVE_INFINITY) this.#roundMs = nowMs;
		if (this.#round === 'cruise') {
			if (nowMs - this.#roundMs < LOOK_BACK_MS) return;
			this.#round = 'drain';
		} else if (sent.round === this.#round) {
			if (this.#round === 'drain') {
				this.#ackTimes.clear();
				this.#ackTimes.add(ackMs, nowMs);
			}
			this.#round = this.#round === 'drain' ? 'probe' : 'cruise';
		}
		this.#roundMs = nowMs;
	}
}

/** The best of the last 10 s, to the second: one number for each. */
class Buckets {
	readonly #better: (one: number, other: number) => number;
	#values: { readonly second: number; value: number }[] = [];

	constructor(better: (one: number, other: number) => number) {
		this.#better = better;
	}

	/** 0 while nothing was measured. */
	get best(): number {
		const [first] = this.#values;
		if (first === undefined) return 0;
		let best = first.value;
		for (const { value } of this.#values) best = this.#better(best, value);
		return best;
	}

	add(value: number, nowMs: number): void {
		const second = Math.floor(nowMs / BUCKET_MS);
		const last = this.#values.at(-1);
		if (last?.second === second) {
			last.value = this.#better(last.value, value);
			return;
		}
		const oldest = second - LOOK_BACK_MS / BUCKET_MS;
		if (this.#values.length > 0) this.#values = this.#values.filter((each) => each.second > oldest);
		this.#values.push({ second, value });
	}

	clear(): void {
		this.#values = [];
	}
}
