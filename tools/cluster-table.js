// The table of what befell the clients in the cluster suite, from reports/cluster.json: printed, and with `--docs` also put
// into docs/TESTING.md, between its markers, with the date and the machine.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { fail, root, say } from './prepare.js';

const REPORT = join(root, 'reports/cluster.json');
const PAGE = join(root, 'docs/TESTING.md');
const PLACE = /(<!-- consul-faults -->\n)[\s\S]*?(<!-- end -->)/;
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
	if (!existsSync(REPORT)) fail(`there is no ${REPORT}: run \`pnpm test:cluster\``);
	const rows = JSON.parse(readFileSync(REPORT, 'utf8'));
	const table = markdownTable(rows);
	say(table);
	if (!writesDocs) return;
	const page = readFileSync(PAGE, 'utf8');
	if (!PLACE.test(page)) fail(`${PAGE} has no place for the table`);
	const [processor] = cpus();
	const date = new Date().toISOString().slice(0, 10);
	const origin = `Taken on ${date}, on ${cpus().length} cores (${processor?.model.trim()}), Node ${process.versions.node}.`;
	writeFileSync(
		PAGE,
		page.replace(PLACE, (_, start, end) => `${start}\n${table}\n\n${origin}\n\n${end}`),
	);
	say(`wrote ${PAGE}`);
}

function markdownTable(rows) {
	const lines = rows.map(({ fault, lookups, failed, wrong, longestAgeMs, agreementMs, bareMs, note }) => [
		note === undefined ? fault : `${fault} (${note})`,
		lookups.toLocaleString('en-US'),
		failed.toLocaleString('en-US'),
		wrong.toLocaleString('en-US'),
		longestAgeMs === 0 ? 'live' : duration(longestAgeMs),
		agreementMs === null ? 'never' : duration(agreementMs),
		bareMs === null ? 'later' : duration(bareMs),
	]);
	const rule = HEADINGS.map((_, column) => (column === 0 ? '---' : '--:'));
	return [HEADINGS, rule, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function duration(ms) {
	return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) showClusterTable(process.argv.includes('--docs'));
