// `node tools/suite.js NAME`, each a script of package.json: the longer suites. docs/TESTING.md says what each does, needs and
// takes, and what of their own options. `--docs` puts the figures of a run into the documentation. All other arguments go to vitest:
// `pnpm test:cluster -t SIGKILL`. With SPOCK_SHARE=K/N every Nth test is run, from the Kth on.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { showClusterTable } from './cluster-table.js';
import { showFaultsTable } from './faults-table.js';
import { showHostileTable } from './hostile-table.js';
import { ensureBuilt, ensureInstalled, fail, root, say } from './prepare.js';
import { runSuite, takeOptions } from './run-suite.js';
import { showSoakTable } from './soak-table.js';

const HANDOVER_FIGURES = 'handover.json';

/** Options are told to the tests as SPOCK_SUITE_OPTION. `keeps`: an option with which the figures of an older run stay. */
const SUITES = {
	browser: {},
	cluster: { figures: ['cluster.json'], show: showClusterTable },
	faults: { counts: ['times', 'pairs'], flags: ['add'], keeps: 'add', figures: ['faults.json'], show: showFaultsTable },
	handover: {
		project: 'load',
		only: ['packages/client/test/handover'],
		counts: ['turns'],
		values: { turns: 200 },
		figures: [HANDOVER_FIGURES],
		show: showHandOver,
	},
	hostile: { figures: ['hostile.json'], show: showHostileTable },
	load: {},
	oracle: { counts: ['seed', 'seconds', 'services', 'clients'] },
	soak: { counts: ['cycles'], figures: ['soak.json'], show: showSoakTable },
};

function showHandOver() {
	const file = join(root, 'reports', HANDOVER_FIGURES);
	if (existsSync(file)) say(`${file}\n${readFileSync(file, 'utf8')}`);
}

const [name, ...args] = process.argv.slice(2);
const suite = Object.hasOwn(SUITES, name ?? '') ? SUITES[name] : undefined;
if (suite === undefined) fail(`usage: node tools/suite.js ${Object.keys(SUITES).join('|')}`, 2);
const { project = name, only = [], counts = [], flags = [], figures = [], keeps, show } = suite;
const { values, rest } = takeOptions(args, { counts, flags: ['docs', ...flags] });

ensureInstalled();
ensureBuilt();
// Rows of an older run must not look like rows of this one; those of a run of one test alone stand beside the others.
if (rest.length === 0 && values[keeps] === undefined) {
	for (const file of figures) rmSync(join(root, 'reports', file), { force: true });
}
const variables = [...counts, ...flags].map((option) => [
	`SPOCK_${name}_${option}`.toUpperCase(),
	values[option] ?? suite.values?.[option],
]);
const status = runSuite(project, [...only, ...rest], Object.fromEntries(variables));
show?.(values.docs);
process.exit(status);
