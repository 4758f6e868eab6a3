// `pnpm test:hostile`: a built sidecar under hostile clients, and a good one beside them; two minutes. `--docs` puts the
// table into docs/TESTING.md as well. Other arguments go to vitest: `pnpm test:hostile -t flood`.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { markdownTable, readReport, showTable } from './docs-table.js';
import { ensureBuilt, ensureInstalled, fail, root } from './prepare.js';

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

const args = process.argv.slice(2);
const writesDocs = args.includes('--docs');

if (process.platform !== 'linux') fail('this suite reads /proc: it runs on Linux only');
ensureInstalled();
ensureBuilt();
const reports = join(root, 'reports');
mkdirSync(reports, { recursive: true });
// Rows of an older run must not look like rows of this one.
rmSync(join(reports, 'hostile.json'), { force: true });
const report = process.env.SPOCK_TEST_REPORT || join(reports, 'hostile-tests.json');
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const reporters = ['--reporter=verbose', '--reporter=json', `--outputFile.json=${report}`];
const passedOn = args.filter((argument) => argument !== '--docs');
const { status } = spawnSync(process.execPath, [vitest, 'run', '--project', 'hostile', ...reporters, ...passedOn], {
	cwd: root,
	stdio: 'inherit',
});

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
showTable('hostile-clients', markdownTable(HEADINGS, lines), writesDocs);
process.exit(status ?? 1);
