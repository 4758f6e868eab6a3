import { join } from 'node:path';
import { startConsul } from '@spock/testkit/real-consul';

import { startServer } from '../processes.ts';
import type { WatchersFigure } from '../results.ts';
import type { Run } from '../run.ts';
import { probe } from './probes.ts';

/** From a change in a real Consul to the clients, beside a bare blocking query that sees the same changes. */
export async function measureWatchers(run: Run): Promise<WatchersFigure[]> {
	const { tools, quick } = run;
	if ('missing' in tools.consul) {
		run.leaveOut('changes in Consul', tools.consul.missing);
		return [];
	}
	const consul = await startConsul({ binary: tools.consul.path });
	const path = join(tools.directory, 'watchers.sock');
	const command = [tools.node, tools.sidecar, 'start', '--backend', 'consul', '--consul', consul.url, '--socket', path];
	const server = startServer([...command, '--admin', '127.0.0.1:0'], path);
	try {
		const figures: WatchersFigure[] = [];
		for (const watchers of quick ? [1] : [1, 10, 100, 1000]) {
			const changes = quick ? 5 : 25;
			figures.push(await probe(run, ['watchers', consul.url, path, String(watchers), String(changes)]));
		}
		run.say(`changes in Consul: ${figures.map(({ watchers }) => watchers).join(', ')} watchers`);
		return figures;
	} finally {
		await server.close();
		await consul[Symbol.asyncDispose]();
	}
}
