// What `pnpm test:pod` has measured, as tables: of reports/image.json and reports/pod.json, which its tests write.
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { markdownTable, readReport } from './docs-section.js';
import { root, say } from './prepare.js';

const COMMAND = 'pnpm test:pod';

/** Only what was run is shown: vitest may have been told to run one file. */
const wasRun = (report) => existsSync(join(root, 'reports', report));

/** Prints what the images weigh and what the sidecar's costs. */
export function showImageTable() {
	if (!wasRun('image.json')) return;
	const { baseBytes, sidecarBytes, appBytes, starts, memory } = readReport('image.json', COMMAND);
	const sorted = (name) => starts.map((start) => start[name]).sort((one, other) => one - other);
	const range = (values) => {
		const [least, middle, most] = [values[0], values[Math.floor(values.length / 2)], values.at(-1)];
		return `${middle} ms (${least} to ${most})`;
	};
	const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
	const rows = [
		["the sidecar's own layer", megabytes(sidecarBytes), 'below 15 MB'],
		["the example app's own layer", megabytes(appBytes), ''],
		['the base, which they share', megabytes(baseBytes), ''],
		[
			`start of the process to \`/readyz\` 200, with Consul, of ${starts.length}`,
			range(sorted('readyMs')),
			'below 500 ms',
		],
		['CPU of that', range(sorted('cpuMs')), ''],
		['resident at rest', megabytes(memory.rest.resident), 'below 70 MB'],
		['… of it not shared with other processes of the base', megabytes(memory.rest.anonymous), ''],
		['resident while an app asks', megabytes(memory.askedBytes), ''],
	];
	say(markdownTable(['', 'measured', 'wanted'], rows));
}

/** Prints what happened in the pod, and when. */
export function showPodTable() {
	if (!wasRun('pod.json')) return;
	const events = readReport('pod.json', COMMAND).sort((one, other) => one.at - other.at);
	const rows = events.map(({ at, event }) => [event, `${(at / 1000).toFixed(2)} s`]);
	say(markdownTable(['', 'at'], rows));
}
