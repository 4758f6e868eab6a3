// `pnpm test:hostile`: a built sidecar under hostile clients, and a good one beside them; two minutes. `--docs` puts the
// table into docs/TESTING.md as well. Other arguments go to vitest: `pnpm test:hostile -t flood`.
import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { markdownTable, readReport, showDocsTable } from './docs-section.js';
import { ensureBuilt, ensureInstalled, fail, root } from './prepare.js';
import { runSuite, takeOptions } from './run-suite.js';

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

const { values, rest } = takeOptions(process.argv.slice(2), { flags: ['docs'] });

if (process.platform !== 'linux') fail('this suite reads /proc: it runs on Linux only');
ensureInstalled();
ensureBuilt();
// Rows of an older run must not look like rows of this one.
rmSync(join(root, 'reports/hostile.json'), { force: true });
const status = runSuite('hostile', rest);

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
showDocsTable('hostile-clients', markdownTable(HEADINGS, lines), values.docs);
process.exit(status);
