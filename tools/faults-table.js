// What befell the apps of `pnpm test:faults`, from reports/faults.json: printed, and with `--docs` also put into docs/reference/measured.md.
import { fileURLToPath } from 'node:url';

import { markdownTable, readReport, showDocsTable } from './docs-section.js';

const COUNTS = [
	'fault',
	'times',
	'calls',
	'answered',
	'rejected',
	'timed out',
	'late replies',
	'hung',
	'settled twice',
];
const LOOKUPS = ['misdelivered', 'lookups', 'lookups failed'];
const TIMES = ['ms', 'goal', 'within it', 'p50', 'p99', 'max'];

/** Prints the tables; with `writesDocs` puts them into the page too. Ends the process if there is no report. */
export function showFaultsTable(writesDocs) {
	const figures = readReport('faults.json', 'pnpm test:faults');
	const text = `${countsTable(figures)}\n\n${timesTable(figures)}`;
	showDocsTable('process-faults', text, writesDocs);
}

function countsTable(figures) {
	const count = (value) => (value === undefined ? '' : value.toLocaleString('en-US'));
	const rows = figures.map(({ fault, times, calls, answered, rejected, timedOut, lateReplies, ...others }) => {
		const { hung, settledTwice, misdelivered, lookups, lookupsFailed } = others;
		const all = [times, calls, answered, rejected, timedOut, lateReplies, hung, settledTwice];
		return [fault, ...[...all, misdelivered, lookups, lookupsFailed].map(count)];
	});
	return markdownTable([...COUNTS, ...LOOKUPS], rows);
}

function timesTable(figures) {
	const ms = (value) => value.toFixed(1);
	const rows = [];
	for (const { fault, rounds = [], ...spreads } of figures) {
		const row = (what, goal, name) => {
			if (!spreads[name]) return;
			const times = rounds.map((round) => round[name]).filter((time) => time !== null);
			const within = times.filter((time) => time <= goal).length / times.length;
			const share = times.length === 0 ? '' : `${(within * 100).toFixed(1)} %`;
			rows.push([`${fault}: ${what}`, goal, share, ...Object.values(spreads[name]).map(ms)]);
		};
		row('last rejection after the close', 50, 'rejectionMs');
		row('the same, after a bare socket’s close', 50, 'rejectionAfterBareMs');
		row('ready again after a bare socket was answered', 100, 'backMs');
	}
	return markdownTable(TIMES, rows);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) showFaultsTable(process.argv.includes('--docs'));
