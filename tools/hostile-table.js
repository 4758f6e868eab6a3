// What a good client saw of the attacks of `pnpm test:hostile`, from reports/hostile.json: printed, and with `--docs` also put into
// docs/reference/measured.md.
import { markdownTable, readReport, showDocsTable } from './docs-section.js';

const HEADINGS = [
	'attack',
	'lookups',
	'failed',
	'before',
	'under attack',
	'ratio',
	'worst p99',
	'heap after',
	'files after',
];

/** Prints the table; with `writesDocs` puts it into the page too. Ends the process if there is no report. */
export function showHostileTable(writesDocs) {
	const ms = (value) => `${value.toFixed(2)} ms`;
	const lines = readReport('hostile.json', 'pnpm test:hostile').map((row) => [
		`${row.attack} (${row.note})`,
		row.lookups.toLocaleString('en-US'),
		row.failed.toLocaleString('en-US'),
		ms(row.quietMs),
		ms(row.attackedMs),
		row.ratio.toFixed(2),
		ms(row.attackedP99Ms),
		`${((row.after.heapBytes - row.before.heapBytes) / 1024 / 1024).toFixed(1)} MiB`,
		`${row.after.fds - row.before.fds}`,
	]);
	showDocsTable('hostile-clients', markdownTable(HEADINGS, lines), writesDocs);
}
