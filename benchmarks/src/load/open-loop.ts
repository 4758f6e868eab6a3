import type { LoadReport, LoadTarget, OpenLoad } from './load.ts';
import { type Instruments, MeasuredWindow, REAL_INSTRUMENTS } from './measured-window.ts';

/** How long arrivals go on behind the window: the pacer begins a little late, and the end must be under load too. */
const TAIL_MS = 100;

/**
 * Calls that may wait for their answers. One that is due beyond that is turned away and counts as failed, as a service
 * would have to treat it: a peer that cannot keep up would otherwise need minutes to work off what it was sent in half a
 * second, and would disturb those who come after it.
 */
export const OUTSTANDING_MAX = 4096;

/** How long the last answers are waited for; a call that has none by then counts as failed. */
const LAST_ANSWERS_MS = 10_000;

/** A call that waits for its answer. */
interface Outstanding {
	readonly dueMs: number;
}

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
	const outstanding = new Set<Outstanding>();
	let emptied: (() => void) | undefined;
	const countAnswered = (dueMs: number): void => window.answeredDue(dueMs);
	const countFailed = (dueMs: number): void => window.failedDue(dueMs);
	const make = (dueMs: number): void => {
		if (outstanding.size >= OUTSTANDING_MAX) {
			window.failedDue(dueMs);
			return;
		}
		const call = { dueMs };
		outstanding.add(call);
		const settle = (count: (dueMs: number) => void): void => {
			if (!outstanding.delete(call)) return;
			count(dueMs);
			if (outstanding.size === 0) emptied?.();
		};
		const answered = (): void => settle(countAnswered);
		if (target.call === undefined) target.send?.(answered);
		else target.call().then(answered, () => settle(countFailed));
	};
	const count = Math.ceil(((load.warmupMs + load.durationMs + TAIL_MS) / 1000) * load.rate);
	const [report] = await Promise.all([
		window.run(load.warmupMs, load.durationMs),
		arrivals.run(load.rate, count, make),
	]);
	if (outstanding.size > 0) {
		await new Promise<void>((resolve) => {
			const timer = instruments.clock.setTimeout(resolve, LAST_ANSWERS_MS);
			emptied = () => {
				instruments.clock.clearTimeout(timer);
				resolve();
			};
		});
		for (const { dueMs } of outstanding) window.failedDue(dueMs);
		outstanding.clear();
	}
	return report();
}
