import { findConsul, runSidecar, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { startConsulCluster } from '@spock/testkit/consul-cluster';
import { expect, it } from 'vitest';

import type { Diagnosis } from '../src/cli/commands/doctor/diagnosis.ts';

it('of three servers the first one that is killed is a warning with its address, and with two gone there is no leader', async () => {
	await using cluster = await startConsulCluster({ binary: findConsul(process.env) });
	await using place = await tempSocket();
	const [first, second, third] = cluster.servers.map(({ url }) => url);
	const env = { CONSUL_HTTP_TOKEN: cluster.managementToken };
	const args = ['--consul', [first, second, third].join(','), '--log-format', 'json'];
	await using sidecar = await startSidecar(place.path, args, { env });
	const registry = async (is: string) =>
		await waitFor(
			`a registry that is ${is}`,
			async () => {
				const run = runSidecar(['doctor', 'consul', '--json', '--socket', place.path]);
				const { checks } = JSON.parse((await run.finished).stdout) as Diagnosis;
				const found = checks.find(({ check }) => check === 'registry');
				return found?.result === is ? found : undefined;
			},
			60_000,
		);
	await registry('ok');

	await cluster.servers[0]?.stop();
	const one = await registry('warning');
	expect(one.found).toContain(`1 of 3 addresses fails: ${first}`);
	await waitFor('the log line', () => sidecar.stdout().includes('address of the registry fails'));

	await cluster.servers[1]?.stop();
	const none = await registry('failed');
	expect(none).toMatchObject({
		found: expect.stringContaining(`no leader: ${third} answers without one`),
		next: expect.stringContaining('start another server'),
	});
});
