// `pnpm test:cluster`: faults of a real three-server Consul cluster under 32 clients that look up without pause, a few
// minutes. `--docs` puts the table into docs/TESTING.md as well. Other arguments go to vitest: `pnpm test:cluster -t SIGKILL`.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { showClusterTable } from './cluster-table.js';
import { ensureBuilt, ensureInstalled, root } from './prepare.js';

const args = process.argv.slice(2);
const writesDocs = args.includes('--docs');
const passedOn = args.filter((argument) => argument !== '--docs');

ensureInstalled();
ensureBuilt();
const reports = join(root, 'reports');
mkdirSync(reports, { recursive: true });
// Rows of an older run must not look like rows of this one.
rmSync(join(reports, 'cluster.json'), { force: true });
const report = process.env.SPOCK_TEST_REPORT || join(reports, 'cluster-tests.json');
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const reporters = ['--reporter=verbose', '--reporter=json', `--outputFile.json=${report}`];
const { status } = spawnSync(process.execPath, [vitest, 'run', '--project', 'cluster', ...reporters, ...passedOn], {
	cwd: root,
	stdio: 'inherit',
});
showClusterTable(writesDocs);
process.exit(status ?? 1);
