import { join } from 'node:path';

import { startServer } from '../processes.ts';
import { probe } from '../sections/probes.ts';
import type { ChangeFigure } from './consul-results.ts';
import type { ConsulRun } from './consul-run.ts';

/**
 * Services of each kind, and ms between two changes. A watch asks at most once a second, so that a service changes every
 * two seconds at the soonest: the delay is measured and not the pace. The last size is past what is watched one by one.
 */
const SIZES: readonly (readonly [watched: number, gapMs: number])[] = [
	[50, 20],
	[100, 20],
];
const CHANGES = 1200;
const CHANGES_QUICK = 100;

/** From a change in a real Consul to the client, beside bare blocking queries in the same run. */
export async function measureChanges(run: ConsulRun): Promise<ChangeFigure[]> {
	const { tools, quick, consul } = run;
	const figures: ChangeFigure[] = [];
	for (const [watched, gapMs] of SIZES) {
		const path = join(tools.directory, `changes-${watched}.sock`);
		const command = [
			tools.node,
			tools.sidecar,
			'start',
			'--backend',
			'consul',
			'--consul',
			consul.url,
			'--socket',
			path,
		];
		const server = startServer(command, path);
		try {
			const changes = quick ? CHANGES_QUICK : CHANGES;
			const args = [consul.url, path, String(watched), String(changes), String(gapMs)];
			figures.push(await probe<ChangeFigure>(run, ['consul-changes', ...args]));
			run.say(`changes in Consul: ${watched} watched`);
		} finally {
			await server.close();
		}
	}
	return figures;
}
