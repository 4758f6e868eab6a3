// The table of what befell the clients in the cluster suite, from reports/cluster.json: printed, and with `--docs` also put
// into docs/reference/measured.md, between its markers, with the date and the machine.
import { fileURLToPath } from 'node:url';

import { markdownTable, readReport, showDocsTable } from './docs-section.js';

const HEADINGS = [
	'fault',
	'lookups',
	'failed',
	'wrong',
	'longest age served',
	'time to agreement',
	'bare blocking query',
];

/** Prints the table; with `writesDocs` puts it into the page too. Ends the process if there is no report. */
export function showClusterTable(writesDocs) {
	showDocsTable('consul-faults', clusterTable(readReport('cluster.json', 'pnpm test:cluster')), writesDocs);
}

function clusterTable(rows) {
	const lines = rows.map(({ fault, lookups, failed, wrong, longestAgeMs, agreementMs, bareMs, note }) => [
		note === undefined ? fault : `${fault} (${note})`,
		lookups.toLocaleString('en-US'),
		failed.toLocaleString('en-US'),
		wrong.toLocaleString('en-US'),
		longestAgeMs === 0 ? 'live' : duration(longestAgeMs),
		agreementMs === null ? 'never' : duration(agreementMs),
		bareMs === null ? 'later' : duration(bareMs),
	]);
	return markdownTable(HEADINGS, lines);
}

function duration(ms) {
	return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) showClusterTable(process.argv.includes('--docs'));
