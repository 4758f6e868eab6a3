import type { Clock, TimerHandle } from '@spock/protocol/internal';

import type { EventOwner, Scheduler, SimEvent } from './scheduler.ts';

/** Milliseconds since 1970 at the start of every run. */
export const WALL_EPOCH_MS = 1_700_000_000_000;
const TIMER_MS_MAX = 2 ** 31 - 1;
/** A machine that was suspended for less is taken for one that was not: the wall clock may run ahead by as much. */
const UNNOTICED_MS = 250;

/**
 * One simulated operating-system process: its clock, its timers, its life. Dead, nothing that was its own happens any more;
 * stopped, everything waits until it goes on.
 */
export class SimProcess implements EventOwner {
	readonly id: number;
	readonly name: string;
	readonly clock: Clock;
	readonly #scheduler: Scheduler;
	readonly #timers = new Set<SimTimer>();
	readonly #deferred: SimEvent[] = [];
	readonly #atExit = new Set<() => void>();
	#isAlive = true;
	#stoppedAtMs: number | undefined;
	#stoppedMs = 0;
	/** How long its machine was suspended so far: timers, and the monotonic clock, are late by so much. */
	#suspendedMs = 0;
	#suspendedAtMs: number | undefined;
	/** When it last went on, in virtual milliseconds. */
	resumedAtMs = 0;
	/** How much of the time its machine was suspended it cannot notice. */
	unnoticedMs = 0;

	/**
	 * `clockFault`: gives the clock that the process sees, in place of its own. `wallAheadMs`: how far the time of day of its machine was set
	 * forward, or back.
	 */
	constructor(
		scheduler: Scheduler,
		id: number,
		name: string,
		clockFault?: (clock: Clock) => Clock,
		wallAheadMs: () => number = () => 0,
	) {
		this.id = id;
		this.name = name;
		this.#scheduler = scheduler;
		// Of no use between processes, and it looks like it.
		const epochMs = id * 1000.125;
		const clock: Clock = {
			now: () => epochMs + (this.#suspendedAtMs ?? scheduler.nowMs) - this.#suspendedMs,
			wallNow: () => WALL_EPOCH_MS + scheduler.nowMs + wallAheadMs(),
			setTimeout: (callback: () => void, delayMs: number) => this.#setTimeout(callback, delayMs),
			clearTimeout: (timer: TimerHandle | undefined) => this.#clearTimeout(timer as SimTimer | undefined),
		};
		this.clock = Object.freeze(clockFault?.(clock) ?? clock);
	}

	get isAlive(): boolean {
		return this.#isAlive;
	}

	get isStopped(): boolean {
		return this.#stoppedAtMs !== undefined;
	}

	/** Since when it is stopped, in virtual milliseconds; Infinity while it runs. */
	get stoppedSinceMs(): number {
		return this.#stoppedAtMs ?? Number.POSITIVE_INFINITY;
	}

	/** How long it has been stopped so far, in milliseconds: no deadline can be kept meanwhile. */
	get stoppedMs(): number {
		return this.#stoppedMs + (this.#stoppedAtMs === undefined ? 0 : this.#scheduler.nowMs - this.#stoppedAtMs);
	}

	/** Timers that are armed. */
	get timers(): number {
		return this.#timers.size;
	}

	/** Where they were armed, for people; only while a trace is kept. */
	describeTimers(): string {
		return [...this.#timers].map(({ madeAt = '' }) => madeAt).join('\n');
	}

	/** Something of this process is due. */
	schedule(delayMs: number, kind: string, run: () => void): SimEvent {
		return this.#scheduler.schedule(delayMs, kind, this, run);
	}

	/** Called when it dies, as the kernel closes what a process had open. Gives a function that takes it back. */
	atExit(callback: () => void): () => void {
		this.#atExit.add(callback);
		return () => this.#atExit.delete(callback);
	}

	/** SIGKILL. */
	kill(): void {
		if (!this.#isAlive) return;
		this.#isAlive = false;
		this.#deferred.length = 0;
		this.#timers.clear();
		for (const callback of [...this.#atExit]) callback();
		this.#atExit.clear();
	}

	/** SIGSTOP. */
	stop(): void {
		if (this.#isAlive) this.#stoppedAtMs ??= this.#scheduler.nowMs;
	}

	/** Its machine is suspended: nothing happens, and its monotonic clock stands still. */
	suspend(): void {
		if (this.#isAlive) this.#suspendedAtMs ??= this.#scheduler.nowMs;
		this.stop();
	}

	/** SIGCONT, or its machine goes on. */
	resume(): void {
		if (this.#stoppedAtMs === undefined) return;
		this.#stoppedMs += this.#scheduler.nowMs - this.#stoppedAtMs;
		if (this.#suspendedAtMs !== undefined) {
			const suspendedMs = this.#scheduler.nowMs - this.#suspendedAtMs;
			this.#suspendedMs += suspendedMs;
			if (suspendedMs <= UNNOTICED_MS) this.unnoticedMs += suspendedMs;
		}
		this.#suspendedAtMs = undefined;
		this.#stoppedAtMs = undefined;
		this.resumedAtMs = this.#scheduler.nowMs;
		for (const event of this.#deferred.splice(0)) if (!event.isCancelled) this.#scheduler.again(event);
	}

	defer(event: SimEvent): void {
		this.#deferred.push(event);
	}

	#setTimeout(callback: () => void, delayMs: number): TimerHandle {
		// As Node has it: whole milliseconds, one at least, counted from the last whole one, so that a timer may be early by a part.
		const isUsual = delayMs >= 1 && delayMs <= TIMER_MS_MAX;
		const { nowMs } = this.#scheduler;
		// What arrives while the machine is suspended, such as a signal, counts from the moment at which its clock stands still.
		const dueMs = Math.floor(this.#suspendedAtMs ?? nowMs) + (isUsual ? Math.trunc(delayMs) : 1);
		const suspendedMs = this.#suspendedMs;
		const event: SimTimer = this.#scheduler.at(Math.max(dueMs, nowMs), 'timer', this, () => {
			const leftMs = dueMs + this.#suspendedMs - suspendedMs - this.#scheduler.nowMs;
			if (leftMs > 0) {
				this.#scheduler.again(event, leftMs);
				return;
			}
			this.#timers.delete(event);
			callback();
		});
		this.#timers.add(event);
		if (this.#scheduler.trace.keepsLines) event.madeAt = new Error('made').stack;
		return event;
	}

	#clearTimeout(timer: SimTimer | undefined): void {
		if (timer === undefined) return;
		this.#timers.delete(timer);
		this.#scheduler.cancel(timer);
	}
}

type SimTimer = SimEvent & TimerHandle & { madeAt?: string | undefined };
