// `pnpm test:handover`: 200 take-overs in a row under load, then 200 crashes of a supervised sidecar at a path and 200 at a
// port; about eight minutes. `--turns N` asks for another number. Other arguments go to vitest: `pnpm test:handover -t 'a path'`.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { ensureBuilt, ensureInstalled, fail, root, say } from './prepare.js';

const FIGURES = ['take-over', 'crash-path', 'crash-port'].map((name) => join(root, `reports/handover-${name}.json`));

const args = process.argv.slice(2);
const at = args.indexOf('--turns');
const [, turns = '200'] = at === -1 ? [] : args.splice(at, 2);
if (!/^[1-9]\d*$/.test(turns)) fail(`--turns must be a whole number from 1, not ${turns}`, 2);

ensureInstalled();
ensureBuilt();
// Figures of an older run must not look like those of this one.
for (const file of FIGURES) rmSync(file, { force: true });
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const { status } = spawnSync(
	process.execPath,
	[vitest, 'run', '--project', 'socket', '--no-file-parallelism', 'packages/client/test/handover', ...args],
	{ cwd: root, stdio: 'inherit', env: { ...process.env, SPOCK_HANDOVER_TURNS: turns } },
);
for (const file of FIGURES.filter(existsSync)) say(`${file}\n${readFileSync(file, 'utf8')}`);
process.exit(status ?? 1);
