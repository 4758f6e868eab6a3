// `npm run bench`: installs and builds what is missing, fetches the Node versions to compare, and runs benchmarks.
// `--quick` and `--check` are the bench's own; what else is given is passed on.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { ensureBuilt, ensureInstalled, fail, nodeBinary, root, run } from './prepare.js';

/** The majors that the product supports; the second one is what the main tables are taken on. */
const NODE_MAJORS = ['20', '24', '26'];
const NODE_MAIN = '24';

const args = process.argv.slice(2);
const isQuick = args.includes('--quick');
const isRender = args[0] === 'render';

ensureInstalled();
ensureBuilt();

const bench = join(root, 'benchmarks/dist/index.js');
const results = join(root, 'docs/performance/results.json');
const docs = join(root, 'docs');
if (isRender) {
	run(process.execPath, [bench, 'render', '--out', results, '--docs', docs, ...args.slice(1)]);
} else {
	if (process.platform !== 'linux') fail('the bench reads /proc and pins processes: it runs on Linux only');
	const nodes = isQuick ? [] : NODE_MAJORS.map(nodeBinary);
	const [main = process.execPath] = isQuick ? [nodeBinary(NODE_MAIN)] : [nodes[NODE_MAJORS.indexOf(NODE_MAIN)]];
	const reports = join(root, 'reports');
	mkdirSync(reports, { recursive: true });
	const outputs = isQuick ? ['--out', join(reports, 'bench-quick.json')] : ['--out', results, '--docs', docs];
	const comparison = nodes.length > 0 ? ['--node-versions', nodes.join(',')] : [];
	run(process.execPath, [bench, 'run', '--node', main, ...comparison, ...outputs, ...args]);
}
