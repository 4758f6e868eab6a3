// `npm start`: the sidecar on the embedded registry with the example services. Further flags follow `--`.
import { join } from 'node:path';

import { ensureBuilt, ensureInstalled, root } from './prepare.js';

ensureInstalled();
ensureBuilt();

const services = join(root, 'examples/services.json');
process.argv.splice(2, 0, 'start', '--backend', 'local', '--services', services);
// In this process and not in a child: Ctrl-C reaches the sidecar itself, which then stops cleanly.
await import('../packages/sidecar/bin/sidecar.js');
