// The table of what happened in the pods of the kubelet suite, from reports/kubelet.json: printed, and with `--docs` also put into
// docs/OPERATIONS.md, between its markers, with the date and the machine.
import { fileURLToPath } from 'node:url';

import { markdownTable, readReport, showDocsTable } from './docs-section.js';

/** Prints the table; with `writesDocs` puts it into the page too. Ends the process if there is no report. */
export function showKubeletTable(writesDocs) {
	const stories = readReport('kubelet.json', 'pnpm test:kubelet');
	const text = `${eventsTable(stories)}\n\n${lookupsTable(stories)}`;
	showDocsTable('kubelet-events', text, writesDocs, 'docs/OPERATIONS.md');
}

function eventsTable(stories) {
	const rows = stories.flatMap(({ title, events }) => [
		[`**${title}**`, ''],
		...events.map(({ afterMs, what }) => [what, (afterMs / 1000).toFixed(2)]),
	]);
	return markdownTable(['', 'seconds'], rows);
}

function lookupsTable(stories) {
	const rows = stories.map(({ title, lookups, failed, longestAgeMs }) => [
		title,
		lookups.toLocaleString('en-US'),
		failed.toLocaleString('en-US'),
		longestAgeMs === 0 ? 'live' : `${(longestAgeMs / 1000).toFixed(1)} s`,
	]);
	return markdownTable(['pod', 'lookups', 'failed', 'longest age served'], rows);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) showKubeletTable(process.argv.includes('--docs'));
