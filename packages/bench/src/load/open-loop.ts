import type { LoadReport, LoadTarget, OpenLoad } from './load.ts';
import { type Instruments, MeasuredWindow, REAL_INSTRUMENTS } from './measured-window.ts';

/** How long arrivals go on behind the window: the pacer begins a little late, and the end must be under load too. */
const TAIL_MS = 100;

/** What tells when calls are due: the pacer, but in tests. */
export interface Arrivals {
	/** Calls `due` for each of `count` arrivals, with the moment it was due on the clock of the load. */
	run(rate: number, count: number, due: (dueMs: number) => void): Promise<void>;
}

/**
 * Makes calls when they are due, whatever became of those before. Latency counts from the moment a call was due and not
 * from when it was made: a peer that stalls cannot hide the calls that it held up.
 */
export async function runOpenLoop(
	target: LoadTarget,
	load: OpenLoad,
	serverPid: number,
	arrivals: Arrivals,
	instruments: Instruments = REAL_INSTRUMENTS,
): Promise<LoadReport> {
	const window = new MeasuredWindow(serverPid, instruments);
	let outstanding = 0;
	let emptied: (() => void) | undefined;
	const settle = (): void => {
		outstanding--;
		if (outstanding === 0) emptied?.();
	};
	const make = (dueMs: number): void => {
		outstanding++;
		const answered = (): void => {
			window.answeredDue(dueMs);
			settle();
		};
		if (target.call === undefined) target.send?.(answered);
		else {
			target.call().then(answered, () => {
				window.failedDue(dueMs);
				settle();
			});
		}
	};
	const count = Math.ceil(((load.warmupMs + load.durationMs + TAIL_MS) / 1000) * load.rate);
	const [report] = await Promise.all([
		window.run(load.warmupMs, load.durationMs),
		arrivals.run(load.rate, count, make),
	]);
	if (outstanding > 0) {
		await new Promise<void>((resolve) => {
			emptied = resolve;
		});
	}
	return report();
}
