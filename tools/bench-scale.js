// `npm run bench:scale`: installs and builds what is missing, and measures thousands of sidecars, large services and node Spocks on a real
// Consul, and 10,000 pods in the simulation; about half an hour. Writes docs/performance/scale.md, and the table of
// docs/guide/which-way.md. `--only NAMES` measures some rows and keeps the others: `npm run bench:scale -- --help`. `--quick` has tiny
// sizes and leaves the docs alone. `--check` fails where a figure misses its floor. `render` writes the pages again.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { replaceInDocs } from './docs-section.js';
import { loadSource } from './load-source.js';
import { ensureBuilt, ensureInstalled, fail, root, run } from './prepare.js';

const args = process.argv.slice(2);
const isQuick = args.includes('--quick');

if (process.platform !== 'linux') fail('the bench reads /proc: it runs on Linux only');
ensureInstalled();
ensureBuilt();

const docs = join(root, 'docs');
const results = join(docs, 'performance/scale.json');
mkdirSync(join(root, 'reports'), { recursive: true });
const outputs = isQuick ? ['--out', join(root, 'reports/bench-scale-quick.json')] : ['--out', results, '--docs', docs];
const [command, ...rest] = args[0] === 'render' ? args : ['run', ...args];
run(process.execPath, [join(root, 'benchmarks/dist/scale.js'), command, ...outputs, ...rest]);
if (!isQuick && !args.includes('--help')) {
	const { renderWaysTable } = await loadSource(`export * from './benchmarks/src/scale/ways-table.ts';`);
	replaceInDocs('ways', renderWaysTable(JSON.parse(readFileSync(results, 'utf8'))), 'docs/guide/which-way.md');
}
