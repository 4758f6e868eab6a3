// `npm run bench consul`: installs and builds what is missing, and measures the way from a change in Consul to the client, and
// what a pod costs Consul; about fourteen minutes. `--quick` is rough and leaves the docs alone. `scale` renews the part on
// few and many services alone; `render` writes the page again.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { ensureBuilt, ensureInstalled, root, run } from './prepare.js';

const args = process.argv.slice(2);
const isQuick = args.includes('--quick');

ensureInstalled();
ensureBuilt();

const bench = join(root, 'benchmarks/dist/consul.js');
const docs = join(root, 'docs');
const results = join(docs, 'performance/consul.json');
mkdirSync(join(root, 'reports'), { recursive: true });
const outputs = isQuick ? ['--out', join(root, 'reports/bench-consul-quick.json')] : ['--out', results, '--docs', docs];
const [command, ...rest] = ['render', 'scale'].includes(args[0]) ? args : ['run', ...args];
run(process.execPath, [bench, command, ...outputs, ...rest]);
