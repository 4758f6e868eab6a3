// `npm run bench:events`: installs and builds what is missing, and measures messages to a store by gRPC and by events, on Node 24, which has
// zstd; about six minutes, with `--peers` some minutes more. Peers at Kafka and Dapr take part when `bash tools/kfake/build.sh` and
// `bash tools/dapr/build.sh` were run before. `--quick` is rough and leaves the docs alone. `--parts`, `--mib`, `--rounds`, `--no-table`, `--kills`:
// `npm run bench:events -- --help`. `render` writes the page again.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { ensureBuilt, ensureInstalled, fail, nodeBinary, root, run } from './prepare.js';

const args = process.argv.slice(2);
const isQuick = args.includes('--quick');
const isRender = args[0] === 'render';

if (process.platform !== 'linux') fail('the bench reads /proc: it runs on Linux only');
ensureInstalled();
ensureBuilt();
if (args.includes('--peers')) run('bash', [join(root, 'tools/nats/build.sh')]);

const bench = join(root, 'benchmarks/dist/events.js');
const docs = join(root, 'docs');
const results = join(docs, 'performance/events.json');
mkdirSync(join(root, 'reports'), { recursive: true });
const outputs = isQuick ? ['--out', join(root, 'reports/bench-events-quick.json')] : ['--out', results, '--docs', docs];
const [command, ...rest] = isRender ? args : ['run', ...args];
// Compression is measured by the bench itself, too.
run(isRender ? process.execPath : nodeBinary('24'), [bench, command, ...outputs, ...rest]);
