// `npm start`: the sidecar on the embedded registry with the example services, with a log of events that is kept between starts.
// Further flags follow `--`.
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ensureBuilt, ensureInstalled, root } from './prepare.js';

ensureInstalled();
ensureBuilt();

const services = join(root, 'examples/services.json');
const hasEvents = process.env.SPOCK_EVENTS !== undefined || process.argv.includes('--events');
// Not in the project: the path of the socket in it must be short.
const events = hasEvents ? [] : ['--events', join(tmpdir(), `spock-events-${process.getuid?.() ?? 'user'}`)];
process.argv.splice(2, 0, 'start', '--backend', 'local', '--services', services, ...events);
// In this process and not in a child: Ctrl-C reaches the sidecar itself, which then stops cleanly.
await import('../packages/sidecar/bin/sidecar.js');
