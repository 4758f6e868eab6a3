// `npm run bench rolling`: installs and builds what is missing, and measures requests that fail under a rolling restart, by Spock and by DNS;
// about four minutes. `--quick` is half a minute, rough, and leaves the docs alone. `render` writes the page again. Fails if a way of Spock
// fails a request. Settings such as `--restarts`, `--rate`, `--prestop-ms`, `--work-ms`: `npm run bench -- rolling --help`.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { ensureBuilt, ensureInstalled, root, run } from './prepare.js';

const args = process.argv.slice(2);
const isQuick = args.includes('--quick');

ensureInstalled();
ensureBuilt();

const bench = join(root, 'benchmarks/dist/rolling.js');
const docs = join(root, 'docs');
const results = join(docs, 'performance/rolling.json');
mkdirSync(join(root, 'reports'), { recursive: true });
const outputs = isQuick
	? ['--out', join(root, 'reports/bench-rolling-quick.json')]
	: ['--out', results, '--docs', docs];
const settings = isQuick
	? ['--restarts', '1', '--pause-ms', '500', '--dns-ttl-ms', '2000']
	: ['--prestop-ms', '1000,0,6000', '--same-port'];
const isRender = args[0] === 'render';
const [command, ...rest] = isRender ? args : ['run', ...settings, ...args];
run(process.execPath, [bench, command, ...outputs, ...rest]);
