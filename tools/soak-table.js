// What a soak left behind, from reports/soak.json: printed, and with `--docs` also put into docs/TESTING.md.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { markdownTable, writeDocsSection } from './docs-section.js';
import { fail, root, say } from './prepare.js';

const REPORT = join(root, 'reports/soak.json');
const COUNTS = ['fds', 'timers', 'listeners', 'resources', 'held'];

/** Prints the tables; with `writesDocs` puts them into the page too. Ends the process if there is no report. */
export function showSoakTable(writesDocs) {
	if (!existsSync(REPORT)) fail(`there is no ${REPORT}: run \`pnpm test:soak\``);
	const { cycles, killed, ends, reports, first, last, planted } = JSON.parse(readFileSync(REPORT, 'utf8'));
	const calls = Object.entries(ends)
		.sort(([, left], [, right]) => right - left)
		.map(([end, count]) => `${count.toLocaleString('en-US')} ${end}`);
	const text = [
		`${cycles.toLocaleString('en-US')} cycles. Their calls came to these ends: ${calls.join(', ')}. ${killed.toLocaleString('en-US')} connections more were dropped by the sidecar, at any moment.`,
		sidesTable(reports, first, last),
		markdownTable(
			['planted leak', 'side', 'found by'],
			planted.map(({ name, side, found }) => [name, side, found.join('; ') || 'nothing']),
		),
	].join('\n\n');
	say(text);
	if (writesDocs) writeDocsSection('soak', text);
}

function sidesTable(reports, first, last) {
	const rows = Object.keys(reports).map((side) => {
		const counts = COUNTS.map((name) => `${first[side][name]} → ${last[side][name]}`);
		const heap = [first[side], last[side]].map(({ heapBytes }) => (heapBytes / 2 ** 20).toFixed(2)).join(' → ');
		const { heapBytesPerCycle, heapBytesPerCycleError } = reports[side];
		return [side, ...counts, heap, `${heapBytesPerCycle.toFixed(1)} ± ${heapBytesPerCycleError.toFixed(1)}`];
	});
	return markdownTable(['', ...COUNTS, 'heap, MiB', 'bytes for each cycle'], rows);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) showSoakTable(process.argv.includes('--docs'));
