import { formatCount, formatNumber } from '../report/format-number.ts';
import type { ScaleFinding } from './scale-goals.ts';
import type { PushLoad, RowName, ScaleFigures, ScaleResults } from './scale-results.ts';

/** A push of more than this part of the whole is no delta. */
const WHOLE_PART = 0.5;
/** Beside so much other work, a time says little of the product. */
const BUSY_SHARE = 0.25;
/** Rows that count bytes, memory or virtual time: other work leaves them alone. */
const UNTIMED: ReadonlySet<RowName> = new Set([
	'held-queries',
	'push-bytes',
	'large-service',
	'pod-memory',
	'simulation',
]);

type Reason<Name extends RowName> = (figure: ScaleFigures[Name]) => string | undefined;

/** What a figure itself shows of why it misses its floor. */
const REASONS: { readonly [Name in RowName]?: Reason<Name> } = {
	'push-bytes': ({ changeBytes, wholeBytes }) =>
		changeBytes > wholeBytes * WHOLE_PART
			? 'each change is sent as the whole service: the client of this build names no feature for less'
			: undefined,
	'push-cpu': ({ memory, tls, watchers }) => {
		const written = (load: PushLoad): string => formatCount(load.megabytesASecond);
		const kilobytes = (memory.megabytesASecond * 1000) / watchers;
		return `${written(memory)} MB/s are written, ${formatCount(kilobytes)} KB/s to each watcher${tls === undefined ? '' : `; with TLS ${written(tls)} MB/s, encrypted for each of them`}`;
	},
	'large-service': ({ error }) => error?.split(':', 1)[0],
	reconnects: ({ restarts, connections, services }) => {
		const backMs = Math.max(...restarts.map((restart) => restart.backMs));
		const cpuMs = Math.max(...restarts.map((restart) => restart.cpuMs));
		return `${formatCount(connections)} clients renew ${formatCount(connections * services)} subscriptions, which takes the new process up to ${formatNumber(cpuMs)} ms of processor time, within ${formatNumber(backMs)} ms; the clients, all in one process, need the other core`;
	},
};

/** For each row with a missed floor: what its figures show of the reason, and how busy the machine was. */
export function reasonsFor({ rows }: ScaleResults, findings: readonly ScaleFinding[]): readonly string[] {
	const missed = new Set(findings.filter(({ verdict }) => verdict === 'missed').map(({ goal }) => goal.row));
	return [...missed].flatMap((row) => {
		const taken = rows[row];
		if (taken === undefined) return [];
		const reason = (REASONS[row] as Reason<RowName> | undefined)?.(taken.figure);
		const busy =
			taken.othersShare > BUSY_SHARE && !UNTIMED.has(row)
				? `other work used ${formatCount(taken.othersShare * 100)} % of the machine meanwhile: \`--only ${row}\` measures it again`
				: undefined;
		const parts = [reason, busy].filter((part) => part !== undefined);
		return parts.length === 0
			? []
			: [`- \`${row}\`: ${parts.join('. ').replace(/\. ./, (start) => start.toUpperCase())}.`];
	});
}
