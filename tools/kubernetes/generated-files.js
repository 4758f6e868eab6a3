// What of k8s/ is made of the rest of it. `npm run manifests -- --write` writes it, and a test holds it in step.
import { join } from 'node:path';

import { chartFiles } from './charts/chart-files.js';
import { cronJobPatches } from './cron-job-patches.js';
import { injectionPolicy } from './injection-policy.js';
import { render } from './render-manifests.js';

/**
 * Calls `onFile` with the path and the text of each. The patches for CronJobs come first: without them nothing else can be
 * rendered.
 */
export function generateFiles(directory, tools, onFile) {
	for (const [path, text] of cronJobPatches(directory)) onFile(path, text);
	const overlay = render(join(directory, 'overlays/consul-agent-on-node'), tools);
	onFile(join(directory, 'injector/policy.yaml'), injectionPolicy(overlay));
	for (const [path, text] of chartFiles(directory, tools)) onFile(path, text);
}
