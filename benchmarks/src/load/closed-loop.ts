import type { Clock } from '@spock/protocol/internal';

import type { ClosedLoad, LoadReport, LoadTarget } from './load.ts';
import { type Instruments, MeasuredWindow, REAL_INSTRUMENTS } from './measured-window.ts';

/** What all callers of a load share. */
interface Round {
	readonly clock: Clock;
	readonly window: MeasuredWindow;
	/** Whether the latency of the next call is taken. */
	readonly isSampled: () => boolean;
	/** False once callers are to make no further call. */
	running: boolean;
}

/** Runs a number of callers, each of which makes its next call when the last one is answered. */
export async function runClosedLoop(
	target: LoadTarget,
	load: ClosedLoad,
	serverPid: number,
	instruments: Instruments = REAL_INSTRUMENTS,
): Promise<LoadReport> {
	let made = 0;
	const round: Round = {
		clock: instruments.clock,
		window: new MeasuredWindow(serverPid, instruments),
		isSampled: () => made++ % load.sampleEvery === 0,
		running: true,
	};
	const callers: Promise<void>[] = [];
	for (let index = 0; index < load.inFlight; index++) {
		if (target.call !== undefined) callers.push(awaiting(target.call, round));
		else if (target.send !== undefined) callers.push(calledBack(target.send, round));
	}
	const report = await round.window.run(load.warmupMs, load.durationMs);
	round.running = false;
	await Promise.all(callers);
	return report();
}

/** A caller as users write it: it awaits. */
async function awaiting(call: () => Promise<unknown>, round: Round): Promise<void> {
	const { clock, window, isSampled } = round;
	while (round.running) {
		const startedMs = isSampled() ? clock.now() : -1;
		try {
			await call();
			window.answered(startedMs < 0 ? -1 : clock.now() - startedMs);
		} catch {
			window.failed();
			// A peer that fails at once must not keep the event loop from ending the round.
			await new Promise(setImmediate);
		}
	}
}

/** A caller without promises: one closure for all of its calls. */
function calledBack(send: (done: () => void) => void, round: Round): Promise<void> {
	const { clock, window, isSampled } = round;
	return new Promise((resolve) => {
		let startedMs = -1;
		const next = (): void => {
			startedMs = isSampled() ? clock.now() : -1;
			send(done);
		};
		const done = (): void => {
			window.answered(startedMs < 0 ? -1 : clock.now() - startedMs);
			if (round.running) next();
			else resolve();
		};
		next();
	});
}
