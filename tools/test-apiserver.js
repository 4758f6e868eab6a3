// `npm run suite apiserver`: every rendered overlay of k8s/ by server-side dry run before a real API server, under Pod Security
// "restricted", and the injector at work. The first run builds Kubernetes; after that it takes half a minute. Needs Linux and root.
// Arguments go to vitest: `npm run suite -- apiserver -t injector`.
import { ensureInstalled } from './prepare.js';

ensureInstalled();
// Only now, because it needs what has just been installed.
const { runOnMachine } = await import('./kubelet/machine-suite.js');
process.exit(runOnMachine('apiserver', process.argv.slice(2)));
