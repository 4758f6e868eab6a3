// `npm run suite kubelet`: pods of the manifests under a real kubelet, with containerd and a real Consul agent, on a machine of namespaces:
// start order, kills of the sidecar, ends, and one Spock for a node. The first run builds Kubernetes and Consul; after that it takes four minutes.
// Needs Linux and root, and what `npm run image` needs. Arguments go to vitest: `npm run suite -- kubelet -t Job`.
import { join } from 'node:path';

import { ensureInstalled, root, run } from './prepare.js';
import { removeFigures, showFigures } from './run-suite.js';

const FIGURES = ['kubelet.json'];

const rest = process.argv.slice(2);
ensureInstalled();
// Only now, because they need what has just been installed.
const { IMAGES } = await import('./image/engine.js');
const { lastLine, runOnMachine } = await import('./kubelet/machine-suite.js');
run(process.execPath, [join(root, 'tools/image.js')]);
// Figures of a run of one test alone stand beside the others.
if (rest.length === 0) removeFigures(FIGURES);
const status = runOnMachine('kubelet', rest, {
	CONSUL_BIN: process.env.CONSUL_BIN || lastLine('bash', [join(root, 'tools/consul/build.sh')]),
	SPOCK_SIDECAR_IMAGE: join(root, IMAGES.sidecar.archive),
	SPOCK_APP_IMAGE: join(root, IMAGES.app.archive),
});
showFigures(FIGURES);
process.exit(status);
