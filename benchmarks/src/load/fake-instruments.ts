import { FakeClock } from '@spock/testkit';

import type { Instruments } from './measured-window.ts';

/** Instruments of a test: time moves when it is told to, and processors work `processorUsPerMs` of each millisecond. */
export class FakeInstruments implements Instruments {
	readonly clock: FakeClock = new FakeClock(0);
	readonly processorTimeUs = (pid: number): number =>
		this.clock.now() * (pid === process.pid ? this.clientUsPerMs : this.serverUsPerMs);
	readonly clientUsPerMs: number = 400;
	readonly serverUsPerMs: number = 250;

	/** Resolves after some time. */
	sleep(ms: number): Promise<void> {
		return new Promise((resolve) => {
			this.clock.setTimeout(resolve, ms);
		});
	}
}

/** A server whose answers take a while, and which answers nothing while it stalls: what came meanwhile waits for its end. */
export class StallingServer {
	readonly #instruments: FakeInstruments;
	readonly #serviceMs: number;
	readonly #stall: { readonly fromMs: number; readonly untilMs: number } | undefined;
	/** Calls that are not answered yet, and the most there ever were. */
	inFlight = 0;
	inFlightMost = 0;
	/** All calls so far. */
	made = 0;

	constructor(instruments: FakeInstruments, serviceMs: number, stall?: { fromMs: number; untilMs: number }) {
		this.#instruments = instruments;
		this.#serviceMs = serviceMs;
		this.#stall = stall;
	}

	async call(): Promise<void> {
		this.made++;
		this.inFlight++;
		this.inFlightMost = Math.max(this.inFlightMost, this.inFlight);
		const nowMs = this.#instruments.clock.now();
		const isStalled = this.#stall !== undefined && nowMs >= this.#stall.fromMs && nowMs < this.#stall.untilMs;
		await this.#instruments.sleep((isStalled ? (this.#stall?.untilMs ?? 0) - nowMs : 0) + this.#serviceMs);
		this.inFlight--;
	}
}
