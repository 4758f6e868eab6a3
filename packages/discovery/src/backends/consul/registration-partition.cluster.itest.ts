import { findConsul } from '@spock/testkit';
import {
	CLUSTER_SIZE,
	type ConsulCluster,
	type NamespaceNetwork,
	namespaceNetwork,
	startConsulCluster,
} from '@spock/testkit/consul-cluster';
import { afterAll, beforeAll, describe, it } from 'vitest';

import { RegistrationSite } from '../../../test/registration-site.ts';

// The servers are asked at their sockets: the cable of a server is cut from the others alone.
const { network, refusal } = await makeNetwork();
const how = refusal === undefined ? '' : ` [by SIGSTOP, not by a cut: ${refusal}]`;

let cluster: ConsulCluster;
beforeAll(async () => {
	cluster = await startConsulCluster({ binary: findConsul(process.env), ...(network && { network }) });
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

describe('an app registered at a server that loses the others, and still answers', () => {
	it(`is served on by the others, and taken out there when it is back${how}`, async () => {
		const urls = cluster.servers.map(({ socketPath, url }) => (network === undefined ? url : `unix://${socketPath}`));
		await using site = await RegistrationSite.start(cluster, { urls, readers: urls });
		if (network === undefined) site.first.pause();
		else await network.cut(0);
		await site.movedTo('server-2/b1');
		if (network === undefined) site.first.resume();
		else {
			await network.heal(0);
			await cluster.rejoin(0);
		}
		await cluster.whenWhole();
		await site.isOnlyAt('server-2/b1');
		site.expectServed();
	});
});

async function makeNetwork(): Promise<{ readonly network?: NamespaceNetwork; readonly refusal?: string }> {
	try {
		return { network: await namespaceNetwork(CLUSTER_SIZE) };
	} catch (error) {
		return { refusal: (error as Error).message };
	}
}
