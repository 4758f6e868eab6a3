import type { ClientFacts } from '../connection/connection-facts.ts';
import type { ClientProblem, ConnectionsView, ConnectionView, Rates } from './status-view.ts';

/** How many connections are shown. */
const ROWS_MAX = 200;
/** How many of the instances that a client has registered are named. */
const REGISTERED_MAX = 20;
/** A sample that is older than this says nothing about now. */
const SAMPLE_AGE_MS_MAX = 30_000;
/** Unread output from which a client falls behind; pushes wait from a sixteenth of it on. */
const BEHIND_BYTES = 1_048_576;

/** What was counted when. */
interface Sample extends Rates {
	readonly atMs: number;
}

/** The clients that are connected, and how busy each is, from one sample to the next. */
export class ConnectionRows {
	#samples: ReadonlyMap<number, Sample> = new Map();
	/** Bytes of all connections, those that have ended too; it never goes back. */
	bytesRead = 0;
	bytesWritten = 0;

	/** Takes a sample at `nowMs` of the monotonic clock, which is `at` in milliseconds since 1970. `grpc` counts those that are not listed. */
	sample(connections: readonly ClientFacts[], { nowMs, at, grpc }: SampleTime): ConnectionsView {
		const samples = new Map<number, Sample>();
		const rows = connections.map((facts): ConnectionView => {
			const { id, openedAtMs, requests, bytesRead, bytesWritten } = facts;
			const sample = { atMs: nowMs, requests, bytesRead, bytesWritten };
			samples.set(id, sample);
			const before = this.#samples.get(id);
			this.bytesRead += bytesRead - (before?.bytesRead ?? 0);
			this.bytesWritten += bytesWritten - (before?.bytesWritten ?? 0);
			// To the second, because an unchanged row is not sent again.
			const openedAt = Math.round((at - nowMs + openedAtMs) / 1000) * 1000;
			return viewOf(facts, openedAt, ratesBetween(before, sample));
		});
		this.#samples = samples;
		rows.sort(troubleThenBusiest);
		const problems = rows.filter((row) => row.problems.length > 0).length;
		return { count: rows.length, problems, grpc, rows: rows.slice(0, ROWS_MAX) };
	}
}

/** When a sample is taken, and of how many connections beside those that are listed. */
export interface SampleTime {
	readonly nowMs: number;
	readonly at: number;
	readonly grpc: number;
}

function viewOf(facts: ClientFacts, openedAt: number, rates: Rates | null): ConnectionView {
	const { id, client, library, pid, transport, address, certificate, registered } = facts;
	const { subscriptions, subscriptionsRevision, keys, inFlight, outputBytes, requests } = facts;
	const named = registered.slice(0, REGISTERED_MAX).map(({ id, service, state, status }) => {
		return { id, service, state, status };
	});
	return {
		...{ id, client, library, pid, transport, address, certificate, openedAt },
		...{ subscriptions, services: subscriptions - keys, keys, subscriptionsRevision },
		...{ registered: named, registeredCount: registered.length },
		...{ inFlight, outputBytes, requests, rates, problems: problemsOf(facts) },
	};
}

/** The worst first. */
function problemsOf({ isSlow, isSilent, isNarrowed, oversize, outputBytes, registered }: ClientFacts): ClientProblem[] {
	const found: readonly (readonly [boolean, ClientProblem])[] = [
		[isSilent, 'silent'],
		[isSlow, 'slow'],
		[!isSlow && outputBytes >= BEHIND_BYTES, 'behind'],
		[registered.some(({ state }) => state !== 'registered'), 'not-registered'],
		[registered.some(({ status }) => status === 'critical'), 'critical'],
		[oversize > 0, 'oversize'],
		[isNarrowed, 'narrowed'],
	];
	return found.flatMap(([is, problem]) => (is ? [problem] : []));
}

function troubleThenBusiest(left: ConnectionView, right: ConnectionView): number {
	return (
		Number(right.problems.length > 0) - Number(left.problems.length > 0) ||
		(right.rates?.requests ?? 0) - (left.rates?.requests ?? 0) ||
		left.id - right.id
	);
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
