import type { Clock, TimerHandle } from '@spock/protocol/internal';

interface FakeTimer extends TimerHandle {
	readonly dueMs: number;
	readonly order: number;
	readonly callback: () => void;
}

/** Wall time when the clock's own is 0. */
const WALL_MS = 1_800_000_000_000;

/** A clock that stands still until a test moves it. Timers fire in the order of their due time, then of their making. */
export class FakeClock implements Clock {
	#nowMs: number;
	#order = 0;
	/** Added to the wall clock. */
	wallOffsetMs = 0;
	readonly #timers = new Set<FakeTimer>();

	constructor(nowMs = 1_000_000) {
		this.#nowMs = nowMs;
	}

	/** Timers that are armed: a test asserts 0 to prove that nothing was left behind. */
	get pendingTimers(): number {
		return this.#timers.size;
	}

	/** When the next timer is due, or undefined. */
	get nextDueMs(): number | undefined {
		return this.#earliest()?.dueMs;
	}

	/** How many timers are due in this time, to the millisecond. */
	dueIn(ms: number): number {
		return [...this.#timers].filter(({ dueMs }) => dueMs === this.#nowMs + ms).length;
	}

	now(): number {
		return this.#nowMs;
	}

	/** Moves with `now`; a test may set it otherwise, as an administrator does. */
	wallNow(): number {
		return WALL_MS + this.wallOffsetMs + this.#nowMs;
	}

	setTimeout(callback: () => void, delayMs: number): TimerHandle {
		const timer: FakeTimer = { dueMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, callback };
		this.#timers.add(timer);
		return timer;
	}

	clearTimeout(timer: TimerHandle | undefined): void {
		if (timer !== undefined) this.#timers.delete(timer as FakeTimer);
	}

	/** Moves time on within a tick, as synchronous work does: nothing fires. */
	work(ms: number): void {
		this.#nowMs += ms;
	}

	/** Moves time on, firing what comes due on the way and letting promises settle after each timer. */
	async advance(ms: number): Promise<void> {
		const untilMs = this.#nowMs + ms;
		await settle();
		for (let timer = this.#earliest(); timer !== undefined && timer.dueMs <= untilMs; timer = this.#earliest()) {
			this.#timers.delete(timer);
			this.#nowMs = Math.max(this.#nowMs, timer.dueMs);
			timer.callback();
			await settle();
		}
		this.#nowMs = untilMs;
	}

	#earliest(): FakeTimer | undefined {
		let earliest: FakeTimer | undefined;
		for (const timer of this.#timers) {
			if (
				earliest === undefined ||
				timer.dueMs < earliest.dueMs ||
				(timer.dueMs === earliest.dueMs && timer.order < earliest.order)
			) {
				earliest = timer;
			}
		}
		return earliest;
	}
}

/** Lets every promise that can settle without I/O or time do so. */
export async function settle(): Promise<void> {
	for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
