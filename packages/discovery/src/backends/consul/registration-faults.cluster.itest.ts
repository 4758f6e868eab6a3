import { findConsul, TcpGate, waitFor } from '@spock/testkit';
import { type ConsulCluster, startConsulCluster } from '@spock/testkit/consul-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { RegistrationSite } from '../../../test/registration-site.ts';

let cluster: ConsulCluster;
beforeAll(async () => {
	cluster = await startConsulCluster({
		binary: findConsul(process.env),
		// As Consul's own chart sets it.
		serverHcl: ['leave_on_terminate = true'],
	});
});

afterAll(() => cluster?.[Symbol.asyncDispose]());

describe('an app registered at three servers without node agents', () => {
	it('is served on when its server is killed, and taken out there when that is back with its old data', async () => {
		await using site = await RegistrationSite.start(cluster);
		await site.first.stop('SIGKILL');
		await site.movedTo('server-2/b1');
		site.first.start();
		await cluster.whenWhole();
		await site.isOnlyAt('server-2/b1');
		site.expectServed();
	});

	it('is served on when its server is killed and comes back with an empty disk', async () => {
		await using site = await RegistrationSite.start(cluster);
		await site.first.stop('SIGKILL');
		await site.movedTo('server-2/b1');
		await site.first.erase();
		site.first.start();
		await cluster.whenWhole();
		await site.isOnlyAt('server-2/b1');
		site.expectServed();
	});

	it('is served on when its server leaves, without a failed lookup', async () => {
		await using site = await RegistrationSite.start(cluster);
		await site.first.stop('SIGTERM');
		await site.movedTo('server-2/b1');
		site.first.start();
		await cluster.whenWhole();
		await site.isOnlyAt('server-2/b1');
		site.expectServed();
	});

	it('is served on in a rolling restart of all three', async () => {
		await using site = await RegistrationSite.start(cluster);
		for (const server of cluster.servers) {
			await server.stop('SIGTERM');
			server.start();
			await cluster.whenWhole();
		}
		await waitFor('it in the registry', async () => (await site.where()).length === 1);
		site.expectServed();
	});

	it('is served on when its server stands still, and is taken out there when that goes on', async () => {
		await using site = await RegistrationSite.start(cluster);
		site.first.pause();
		await site.movedTo('server-2/b1');
		site.first.resume();
		await cluster.whenWhole();
		await site.isOnlyAt('server-2/b1');
		site.expectServed();
	});

	it('is not registered twice while its server cannot be reached and publishes it as well', async () => {
		await using gate = await TcpGate.open(cluster.network.ports.http);
		const [, ...others] = cluster.servers.map(({ url }) => url);
		await using site = await RegistrationSite.start(cluster, { urls: [gate.url, ...others], ttlMs: 9000 });
		gate.hold(true);
		await site.movedTo('server-2/b1');
		await waitFor('it in the registry', () => site.published.at(-1) === 'server-2');
		expect(site.published).toEqual(['server-1', 'nowhere', 'server-2']);
		gate.hold(false);
		await site.isOnlyAt('server-2/b1');
		// Nothing else shows that an app is well whose sidecar cannot renew it.
		expect(site.odd.filter((found) => found !== 'critical')).toEqual([]);
	});

	it('stays in maintenance when it moves', async () => {
		await using site = await RegistrationSite.start(cluster);
		await site.first.json({ method: 'PUT', path: '/v1/agent/service/maintenance/b1?enable=true&reason=disk' });
		await waitFor('the maintenance', () => site.published.at(-1) === 'nowhere');
		await site.first.stop('SIGKILL');
		await site.movedTo('server-2/b1');
		await waitFor('the maintenance there', async () => {
			const path = '/v1/agent/checks';
			const checks = await cluster.servers[1]?.tryJson<Record<string, { Notes: string }>>({ path });
			return checks?.['_service_maintenance:b1']?.Notes === 'disk';
		});
		expect(site.published).toEqual(['server-1', 'nowhere']);
	});

	it('is served on when the sidecar is killed too, before its server is back', async () => {
		await using site = await RegistrationSite.start(cluster);
		await site.first.stop('SIGKILL');
		await site.movedTo('server-2/b1');
		await site.startSidecar();
		site.first.start();
		await cluster.whenWhole();
		await site.isOnlyAt('server-2/b1');
		site.expectServed();
	});

	it('is registered by a sidecar that starts while the first server is away', async () => {
		await cluster.servers[0]?.stop('SIGKILL');
		await using site = await RegistrationSite.start(cluster);
		await site.isOnlyAt('server-2/b1');
	});
});

describe('an app registered at the agent of its node, and servers behind it', () => {
	it('is served on when that agent is killed, and taken out there when it is back', async () => {
		const { agent, servers } = cluster;
		await using site = await RegistrationSite.start(cluster, { urls: [agent.url, ...servers.map(({ url }) => url)] });
		await agent.stop('SIGKILL');
		await site.movedTo('server-1/b1');
		agent.start();
		await cluster.whenWhole();
		await site.isOnlyAt('server-1/b1');
		site.expectServed();
	});
});
