// `pnpm test:faults [--times N] [--pairs N]`: SIGKILL, SIGSTOP and SIGTERM for real sidecars under apps with 1,024 calls in
// flight. Each of the first two N times (40 by default; the full run is 1,000), in so many pairs of processes side by side.
// `--add` keeps the rounds of earlier runs and adds these. `--docs` puts the figures into docs/TESTING.md as well. Other arguments go to vitest: `pnpm test:faults -t SIGSTOP`.
import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { showFaultsTable } from './faults-table.js';
import { ensureBuilt, ensureInstalled, root } from './prepare.js';
import { runSuite, takeOptions } from './run-suite.js';

const { values, rest } = takeOptions(process.argv.slice(2), { counts: ['times', 'pairs'], flags: ['add', 'docs'] });
ensureInstalled();
ensureBuilt();
// Rows of an older run must not look like rows of this one; those of a run of one test alone stand beside the others.
if (rest.length === 0 && !values.add) rmSync(join(root, 'reports/faults.json'), { force: true });
const variables = { TIMES: values.times, PAIRS: values.pairs, ADD: values.add };
const named = Object.entries(variables).map(([name, value]) => [`SPOCK_FAULTS_${name}`, value]);
const status = runSuite('faults', rest, Object.fromEntries(named));
showFaultsTable(values.docs);
process.exit(status);
