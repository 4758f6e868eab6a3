// What a soak left behind, from reports/soak.json: printed, and with `--docs` also put into docs/reference/measured.md.
import { fileURLToPath } from 'node:url';

import { markdownTable, readReport, showDocsTable } from './docs-section.js';

const COUNTS = ['fds', 'timers', 'listeners', 'resources', 'held'];

/** Prints the tables; with `writesDocs` puts them into the page too. Ends the process if there is no report. */
export function showSoakTable(writesDocs) {
	const { cycles, killed, ends, reports, first, last, planted } = readReport('soak.json', 'pnpm test:soak');
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
	showDocsTable('soak', text, writesDocs);
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
