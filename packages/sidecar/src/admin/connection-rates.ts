import type { ConnectionFacts } from '../connection/connection.ts';
import type { ConnectionsView, ConnectionView, Rates } from '../handlers/status-view.ts';

/** How many connections are shown. */
const ROWS_MAX = 200;
/** A sample that is older than this says nothing about now. */
const SAMPLE_AGE_MS_MAX = 30_000;

/** What was counted when. */
interface Sample extends Rates {
	readonly atMs: number;
}

/** How busy each connection is, from one sample to the next. */
export class ConnectionRates {
	#samples: ReadonlyMap<number, Sample> = new Map();
	/** Bytes of all connections, those that have ended too; it never goes back. */
	bytesRead = 0;
	bytesWritten = 0;

	/** Takes a sample at `nowMs` of the monotonic clock, which is `at` in milliseconds since 1970. */
	sample(connections: readonly ConnectionFacts[], nowMs: number, at: number): ConnectionsView {
		const samples = new Map<number, Sample>();
		const rows = connections.map((facts): ConnectionView => {
			const { id, client, pid, openedAtMs, subscriptions, inFlight, outputBytes, ...counts } = facts;
			const { requests, bytesRead, bytesWritten } = counts;
			const sample = { atMs: nowMs, requests, bytesRead, bytesWritten };
			samples.set(id, sample);
			// To the second: a row that says the same every time is not told again.
			const openedAt = Math.round((at - nowMs + openedAtMs) / 1000) * 1000;
			const before = this.#samples.get(id);
			this.bytesRead += bytesRead - (before?.bytesRead ?? 0);
			this.bytesWritten += bytesWritten - (before?.bytesWritten ?? 0);
			const rates = ratesBetween(before, sample);
			return { id, client, pid, openedAt, subscriptions, inFlight, outputBytes, requests, rates };
		});
		this.#samples = samples;
		rows.sort((left, right) => (right.rates?.requests ?? 0) - (left.rates?.requests ?? 0) || left.id - right.id);
		return { count: rows.length, rows: rows.slice(0, ROWS_MAX) };
	}
}

/** Per second; null where there is no sample to compare with, or none that is young enough. */
export function ratesBetween(before: Sample | undefined, after: Sample): Rates | null {
	if (before === undefined) return null;
	const elapsedMs = after.atMs - before.atMs;
	if (elapsedMs <= 0 || elapsedMs > SAMPLE_AGE_MS_MAX) return null;
	const rate = (name: keyof Rates): number =>
		Math.max(0, Math.round(((after[name] - before[name]) * 1000) / elapsedMs));
	return { requests: rate('requests'), bytesRead: rate('bytesRead'), bytesWritten: rate('bytesWritten') };
}
