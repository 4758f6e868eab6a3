// `pnpm test:kubelet`: pods of the manifests under a real kubelet, with containerd and a real Consul agent, on a machine of namespaces:
// start order, kills of the sidecar, ends. The first run builds Kubernetes and Consul; after that it takes three minutes.
// Needs Linux and root, and what `pnpm image` needs. Arguments go to vitest: `pnpm test:kubelet -t Job`.
import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { showKubeletTable } from './kubelet-table.js';
import { ensureInstalled, root, run } from './prepare.js';

const rest = process.argv.slice(2);
ensureInstalled();
// Only now, because they need what has just been installed.
const { IMAGES } = await import('./image/engine.js');
const { lastLine, runOnMachine } = await import('./kubelet/machine-suite.js');
run(process.execPath, [join(root, 'tools/image.js')]);
// Pods of an older run must not look like those of this one; those of a run of one test alone stand beside the others.
if (rest.length === 0) rmSync(join(root, 'reports/kubelet.json'), { force: true });
const status = runOnMachine('kubelet', rest, {
	CONSUL_BIN: process.env.CONSUL_BIN || lastLine('bash', [join(root, 'tools/consul/build.sh')]),
	SPOCK_SIDECAR_IMAGE: join(root, IMAGES.sidecar.archive),
	SPOCK_APP_IMAGE: join(root, IMAGES.app.archive),
});
showKubeletTable();
process.exit(status);
