// Prints what happened in the pods of the kubelet suite, from reports/kubelet.json.
import { fileURLToPath } from 'node:url';

import { markdownTable, readReport } from './docs-section.js';
import { say } from './prepare.js';

/** Prints the tables. Ends the process if there is no report. */
export function showKubeletTable() {
	const stories = readReport('kubelet.json', 'pnpm test:kubelet');
	say(`${eventsTable(stories)}\n\n${lookupsTable(stories)}`);
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

if (process.argv[1] === fileURLToPath(import.meta.url)) showKubeletTable();
