import { describe, expect, it } from 'vitest';

import { seededRandom } from '../../test/seeded-random.ts';
import { AdaptiveWindow, type SentBytes, WINDOW_BYTES_MAX, WINDOW_BYTES_MIN } from './adaptive-window.ts';

const KIBIBYTE = 1024;
const BATCH_BYTES = 16 * KIBIBYTE;
const PHASE_MS = 60_000;
/** A fixed window is as fast at the end as after a few seconds. */
const FIXED_MS = 5000;

/** What a sender asks of its window. */
interface Window {
	readonly bytes: number;
	readonly inFlight: number;
	sent(bytes: number, nowMs: number): SentBytes | undefined;
	acked(sent: SentBytes | undefined, bytes: number, nowMs: number): void;
}

class FixedWindow implements Window {
	readonly bytes: number;
	inFlight = 0;

	constructor(bytes: number) {
		this.bytes = bytes;
	}

	sent(bytes: number): undefined {
		this.inFlight += bytes;
	}

	acked(_sent: SentBytes | undefined, bytes: number): void {
		this.inFlight -= bytes;
	}
}

/** A pipe of a bandwidth, in bytes per millisecond, with a store behind it that takes its time for each batch. */
class Pipe {
	readonly #window: Window;
	#rate: number;
	/** `leftMs`: when its last byte is through the pipe. */
	readonly #flight: {
		leftMs: number;
		dueMs: number;
		readonly latencyMs: number;
		readonly bytes: number;
		readonly sent: SentBytes | undefined;
	}[] = [];
	#nowMs = 1000;
	#freeMs = 0;
	#ackMs = 0;

	constructor(window: Window, megabits: number) {
		this.#window = window;
		this.#rate = rateOf(megabits);
	}

	/** The bandwidth from now on, also of what waits in front of the pipe. */
	set megabits(megabits: number) {
		const rate = rateOf(megabits);
		const later = (ms: number): number => this.#nowMs + (Math.max(0, ms - this.#nowMs) * this.#rate) / rate;
		this.#freeMs = later(this.#freeMs);
		let dueMs = this.#nowMs;
		for (const batch of this.#flight) {
			// What is through is on its way to the store, or back.
			if (batch.leftMs > this.#nowMs) {
				batch.leftMs = later(batch.leftMs);
				batch.dueMs = batch.leftMs + batch.latencyMs;
			}
			batch.dueMs = Math.max(dueMs, batch.dueMs);
			dueMs = batch.dueMs;
		}
		this.#ackMs = dueMs;
		this.#rate = rate;
	}

	/** Always has something to send. Gives what was stored, in bytes per millisecond. */
	run(latencyMs: number, forMs: number): number {
		const window = this.#window;
		const untilMs = this.#nowMs + forMs;
		let stored = 0;
		for (;;) {
			const batch = Math.min(256 * KIBIBYTE, Math.max(BATCH_BYTES, window.bytes / 8));
			while (window.inFlight + batch <= window.bytes) {
				this.#freeMs = Math.max(this.#nowMs, this.#freeMs) + batch / this.#rate;
				this.#ackMs = Math.max(this.#ackMs, this.#freeMs + latencyMs);
				const sent = window.sent(batch, this.#nowMs);
				this.#flight.push({ leftMs: this.#freeMs, dueMs: this.#ackMs, latencyMs, bytes: batch, sent });
			}
			const next = this.#flight[0];
			if (next === undefined || next.dueMs > untilMs) break;
			this.#flight.shift();
			this.#nowMs = next.dueMs;
			window.acked(next.sent, next.bytes, this.#nowMs);
			stored += next.bytes;
		}
		this.#nowMs = untilMs;
		return stored / forMs;
	}
}

/** In bytes per millisecond. */
function rateOf(megabits: number): number {
	return (megabits * 1e6) / 8 / 1000;
}

const LATENCIES = [5, 150, 5] as const;

/** The best of the fixed windows in each phase, each with a pipe of its own. */
function bestOf(megabits: number): number[] {
	const best = LATENCIES.map(() => 0);
	for (let bytes = WINDOW_BYTES_MIN; bytes <= WINDOW_BYTES_MAX; bytes *= 2) {
		const pipe = new Pipe(new FixedWindow(bytes), megabits);
		for (const [phase, latencyMs] of LATENCIES.entries()) {
			best[phase] = Math.max(best[phase] as number, pipe.run(latencyMs, FIXED_MS));
		}
	}
	return best;
}

describe('an adaptive window', () => {
	it.each([5, 40, 100, 1e6])(
		'of %d Mbit/s is within a fifth of the best fixed one, whatever the latency',
		(megabits) => {
			const best = bestOf(megabits);
			const pipe = new Pipe(new AdaptiveWindow(), megabits);
			const part = LATENCIES.map((latencyMs, phase) => pipe.run(latencyMs, PHASE_MS) / (best[phase] as number));
			expect(Math.min(...part), part.map((each) => each.toFixed(2)).join(' ')).toBeGreaterThan(0.8);
		},
	);

	it('does not grow a queue: an ack takes at most four times as long as through an empty pipe', () => {
		const window = new AdaptiveWindow();
		const pipe = new Pipe(window, 40);
		pipe.run(150, 10 * PHASE_MS);
		expect(window.bytes).toBeLessThan(4 * 150 * 5000);
	});

	it('follows a bandwidth that falls and rises', () => {
		const window = new AdaptiveWindow();
		for (const megabits of [100, 5, 100]) {
			const rate = new Pipe(window, megabits).run(40, PHASE_MS);
			expect(rate / ((megabits * 1e6) / 8000)).toBeGreaterThan(0.8);
			window.forget();
		}
	});

	it.each([5, 40, 150])(
		'uses a link whose rate moves between 5 and 100 Mbit/s every second, and an ack takes %d ms',
		(latencyMs) => {
			const random = seededRandom(7);
			const pipe = new Pipe(new AdaptiveWindow(), 40);
			let [stored, capacity] = [0, 0];
			for (let second = 0; second < 300; second++) {
				const megabits = 5 * 20 ** random();
				pipe.megabits = megabits;
				stored += pipe.run(latencyMs, 1000);
				capacity += rateOf(megabits);
			}
			expect(stored / capacity).toBeGreaterThan(0.9);
		},
	);

	it('is halved by an error, is never below 64 KiB, and comes back', () => {
		const window = new AdaptiveWindow();
		const pipe = new Pipe(window, 100);
		pipe.run(150, 5000);
		const before = window.bytes;
		window.failed(6000);
		expect(window.bytes).toBeLessThanOrEqual(before / 2 + 1);
		expect(window.inFlight).toBe(0);
		for (let times = 0; times < 20; times++) window.failed(6000);
		expect(window.bytes).toBe(WINDOW_BYTES_MIN);
		new Pipe(window, 100).run(150, 10_000);
		expect(window.bytes).toBeGreaterThan(before / 2);
	});

	it('is 64 KiB at first, and 8 MiB at most', () => {
		const window = new AdaptiveWindow();
		expect(window.bytes).toBe(WINDOW_BYTES_MIN);
		new Pipe(window, 1e6).run(150, PHASE_MS);
		expect(window.bytes).toBeLessThanOrEqual(WINDOW_BYTES_MAX);
	});

	it('grows by a quarter for a round every 10 s', () => {
		const window = new AdaptiveWindow();
		const pipe = new Pipe(window, 40);
		pipe.run(150, 9000);
		const seen: number[] = [];
		for (let step = 0; step < 300; step++) {
			pipe.run(150, 10);
			seen.push(window.bytes);
		}
		const usual = seen[0] as number;
		expect(Math.max(...seen) / usual).toBeGreaterThan(1.2);
		expect(Math.max(...seen) / usual).toBeLessThan(1.6);
		expect(Math.min(...seen) / usual).toBeLessThan(0.5);
	});
});
