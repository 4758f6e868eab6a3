import { type Clock, systemClock } from '@spock/protocol/internal';

import type { LoadReport } from './load.ts';
import { processorTimeUs } from './processor-time.ts';
import { Samples } from './samples.ts';

/** What a load is measured by. */
export interface Instruments {
	readonly clock: Clock;
	/** Time that a process has had on a processor so far, in µs. */
	readonly processorTimeUs: (pid: number) => number;
}

/** The clock of this process, and /proc. */
export const REAL_INSTRUMENTS: Instruments = Object.freeze({ clock: systemClock, processorTimeUs });

/** Counts the calls of a running load between two moments, with the processor time of both sides. */
export class MeasuredWindow {
	readonly #samples = new Samples();
	readonly #serverPid: number;
	readonly #instruments: Instruments;
	/** True within the window. */
	#open = false;
	#openedMs = Number.POSITIVE_INFINITY;
	#closedMs = Number.POSITIVE_INFINITY;
	#calls = 0;
	#errors = 0;

	constructor(serverPid: number, instruments: Instruments) {
		this.#serverPid = serverPid;
		this.#instruments = instruments;
	}

	/** One call of a closed loop was answered; its latency if it was taken, else a negative number. */
	answered(latencyMs: number): void {
		if (!this.#open) return;
		this.#calls++;
		if (latencyMs >= 0) this.#samples.add(latencyMs);
	}

	failed(): void {
		if (this.#open) this.#errors++;
	}

	/**
	 * One call of an open loop was answered. It counts as work of the window in which it was answered, and its latency as
	 * one of the window in which it was due: a stall that lasts beyond the end must show in all the calls that it held up.
	 */
	answeredDue(dueMs: number): void {
		if (this.#open) this.#calls++;
		if (this.#holds(dueMs)) this.#samples.add(this.#instruments.clock.now() - dueMs);
	}

	failedDue(dueMs: number): void {
		if (this.#holds(dueMs)) this.#errors++;
	}

	#holds(dueMs: number): boolean {
		return dueMs >= this.#openedMs && dueMs < this.#closedMs;
	}

	/**
	 * Lets the load warm up, opens the window for its time, and closes it. What was counted is given by the function that
	 * it resolves with: sorting is work that must not stand between the load and its end.
	 */
	async run(warmupMs: number, durationMs: number): Promise<() => LoadReport> {
		const { clock, processorTimeUs } = this.#instruments;
		await this.#sleep(warmupMs);
		const clientBeforeUs = processorTimeUs(process.pid);
		const serverBeforeUs = processorTimeUs(this.#serverPid);
		this.#open = true;
		this.#openedMs = clock.now();
		await this.#sleep(durationMs);
		this.#open = false;
		this.#closedMs = clock.now();
		const elapsedMs = this.#closedMs - this.#openedMs;
		const clientCpuUs = processorTimeUs(process.pid) - clientBeforeUs;
		const serverCpuUs = processorTimeUs(this.#serverPid) - serverBeforeUs;
		return () => ({ ...this.#counted(), elapsedMs, clientCpuUs, serverCpuUs });
	}

	#counted(): Omit<LoadReport, 'elapsedMs' | 'clientCpuUs' | 'serverCpuUs'> {
		const samples = this.#samples;
		samples.sort();
		const us = (share: number): number => samples.percentile(share) * 1000;
		const calls = this.#calls;
		const errors = this.#errors;
		return { calls, errors, p50Us: us(0.5), p99Us: us(0.99), p999Us: us(0.999), maxUs: us(1) };
	}

	#sleep(ms: number): Promise<void> {
		return new Promise((resolve) => {
			this.#instruments.clock.setTimeout(resolve, ms);
		});
	}
}
