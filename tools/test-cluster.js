// `pnpm test:cluster`: faults of a real three-server Consul cluster under 32 clients that look up without pause, a few
// minutes. `--docs` puts the table into docs/TESTING.md as well. Other arguments go to vitest: `pnpm test:cluster -t SIGKILL`.
import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { showClusterTable } from './cluster-table.js';
import { ensureBuilt, ensureInstalled, root } from './prepare.js';
import { runSuite, takeOptions } from './run-suite.js';

const { values, rest } = takeOptions(process.argv.slice(2), { flags: ['docs'] });
ensureInstalled();
ensureBuilt();
// Rows of an older run must not look like rows of this one.
rmSync(join(root, 'reports/cluster.json'), { force: true });
const status = runSuite('cluster', rest);
showClusterTable(values.docs);
process.exit(status);
