// `pnpm test:soak [--cycles N]`: connects, calls, aborts, time-outs, kills, subscriptions and registrations, 10,000 by default; the
// app and the sidecar must hold afterwards what they held before. Then leaks are planted, and each must be found. `--docs` puts
// the figures into docs/TESTING.md as well. Other arguments go to vitest: `pnpm test:soak -t planted`.
import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { ensureInstalled, root } from './prepare.js';
import { runSuite, takeOptions } from './run-suite.js';
import { showSoakTable } from './soak-table.js';

const { values, rest } = takeOptions(process.argv.slice(2), { counts: ['cycles'], flags: ['docs'] });
ensureInstalled();
if (rest.length === 0) rmSync(join(root, 'reports/soak.json'), { force: true });
const status = runSuite('soak', rest, { SPOCK_SOAK_CYCLES: values.cycles });
showSoakTable(values.docs);
process.exit(status);
