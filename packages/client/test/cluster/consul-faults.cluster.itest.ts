import { setTimeout as delay } from 'node:timers/promises';

import { findConsul, waitFor } from '@spock/testkit';
import { type ConsulCluster, startConsulCluster } from '@spock/testkit/consul-cluster';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { hostOf, instanceId, portOf, serviceName } from './addressing.ts';
import { FaultSite } from './fault-site.ts';
import { apply, deleteInstance, putInstance, putNodes } from './registry.ts';

const ORDINARY = Array.from({ length: 20 }, (_, service) => service);
/** Registered at the client agent itself, as a service on the same machine is: it goes when that agent leaves. */
const LOCAL = 20;
/** One of its three instances comes and goes. */
const FLAPPING = 21;
/** All of it comes and goes. */
const VANISHING = 22;
const SERVICES = [...ORDINARY, LOCAL, FLAPPING, VANISHING];
const INSTANCES = 3;
/** How long a fault lasts: long enough for Consul to notice and to act. */
const LAST_MS = 4000;
const FLAP_MS = 50;
const FLAPS = 160;

let cluster: ConsulCluster;
let site: FaultSite;

beforeAll(async () => {
	cluster = await startConsulCluster({ binary: findConsul(process.env) });
	const several = [...ORDINARY, FLAPPING].flatMap((service) =>
		Array.from({ length: INSTANCES }, (_, instance) => putInstance(service, instance, '0')).flat(),
	);
	await apply(cluster.agent, [...putNodes(INSTANCES), ...several, ...putInstance(VANISHING, 0, '0')]);
	await registerLocal('0');
	site = await FaultSite.start(cluster, { lookedUp: SERVICES, changing: ORDINARY });
});

afterEach(async () => {
	// A scenario that failed half-way must not spoil the next one.
	for (const agent of [...cluster.servers, cluster.agent]) {
		agent.resume();
		agent.start();
	}
	await cluster.whenWhole();
});

afterAll(async () => {
	await site?.[Symbol.asyncDispose]();
	await cluster?.[Symbol.asyncDispose]();
});

describe('32 clients of a sidecar on a real three-server Consul', () => {
	it('live through SIGKILL of the leader', async () => {
		const leader = cluster.servers[await cluster.leader()];
		await site.prove('SIGKILL of the leader', [
			{
				harm: async () => {
					await leader?.stop('SIGKILL');
					await delay(LAST_MS);
				},
			},
			{
				harm: async () => {
					leader?.start();
					await cluster.whenWhole();
				},
			},
		]);
	});

	it('live through SIGSTOP of the leader', async () => {
		const leader = cluster.servers[await cluster.leader()];
		await site.prove('SIGSTOP of the leader', [
			{
				harm: async () => {
					leader?.pause();
					await delay(LAST_MS);
				},
				label: 'while it stands still',
				// It still stands still, and the agent may be fed by it.
				backWhen: 'blocking query',
			},
			{
				harm: async () => {
					leader?.resume();
					await cluster.whenWhole();
				},
				label: 'after it goes on',
			},
		]);
	});

	it('live through the leader leaving in good order', async () => {
		const leader = cluster.servers[await cluster.leader()];
		await site.prove('graceful leave of the leader', [
			{ harm: async () => leader?.leave() },
			{
				harm: async () => {
					leader?.start();
					await cluster.whenWhole();
				},
			},
		]);
	});

	it('live through the loss of the quorum', async () => {
		const number = await cluster.leader();
		const lost = cluster.servers.filter((_, other) => other === number || other === (number + 1) % 3);
		await site.prove('loss of quorum (two servers down)', [
			{
				harm: async () => {
					await Promise.all(lost.map((server) => server.stop('SIGKILL')));
					await delay(2 * LAST_MS);
					for (const server of lost) server.start();
				},
			},
		]);
	});

	it('live through a crash and restart of the client agent', async () => {
		await site.prove('client agent killed and restarted', [
			{
				harm: async () => {
					await cluster.agent.stop('SIGKILL');
					cluster.agent.start();
					await delay(LAST_MS);
				},
			},
		]);
	});

	it('live through a restart of the client agent in good order, although all that it had registered is gone for a moment', async () => {
		await site.prove('client agent restarted in good order', [
			{
				harm: async () => {
					await cluster.agent.stop('SIGTERM');
					await delay(1000);
					cluster.agent.start();
				},
				change: async () => {
					await registerLocal(site.nextRound());
					await site.changeAll();
				},
			},
		]);
	});

	it('live through a restore from a snapshot, which takes the index back', async () => {
		let before = 0;
		await site.prove('servers restored from a snapshot', [
			{
				churn: false,
				harm: async () => {
					const snapshot = await cluster.saveSnapshot();
					for (let round = 0; round < 30; round++) await site.changeAll();
					await apply(
						cluster.agent,
						ORDINARY.flatMap((service) => putInstance(service, INSTANCES - 1, 'gone')),
					);
					before = await indexOf(ORDINARY[0] ?? 0);
					await delay(1000);
					await cluster.restoreSnapshot(snapshot);
				},
				// Nothing is changed any more: the clients have to notice by themselves.
				change: async () => {
					await waitFor('the index to go back', async () => (await indexOf(ORDINARY[0] ?? 0)) < before);
				},
			},
		]);
	});

	it('live through the revocation of the token, and use the next one as soon as it is in its file', async () => {
		await site.prove('token revoked, then replaced', [
			{
				agrees: false,
				harm: async () => {
					await site.sidecar.revokeToken();
					await delay(2 * LAST_MS);
				},
			},
			{ harm: () => site.sidecar.giveToken() },
		]);
	});

	it('live through services that flap 20 times a second', async () => {
		await site.prove('a service that flaps 20 times a second', [
			{
				churn: false,
				harm: async () => {
					for (let flap = 0; flap < FLAPS; flap++) {
						const due = delay(FLAP_MS);
						const isThere = flap % 2 === 1;
						const operations = [
							...(isThere ? putInstance(FLAPPING, 2, site.nextRound()) : deleteInstance(FLAPPING, 2)),
							...(isThere ? putInstance(VANISHING, 0, site.nextRound()) : deleteInstance(VANISHING, 0)),
						];
						await apply(cluster.agent, operations);
						await due;
					}
				},
			},
		]);
	});
});

/** Registers the local service at the client agent, and resolves when the servers have heard of it. */
async function registerLocal(round: string): Promise<void> {
	const body = {
		ID: instanceId(LOCAL, 0),
		Name: serviceName(LOCAL),
		Address: hostOf(LOCAL, 0),
		Port: portOf(LOCAL),
		Meta: { round },
	};
	await cluster.agent.json({ method: 'PUT', path: '/v1/agent/service/register', body });
	const path = `/v1/catalog/service/${serviceName(LOCAL)}?consistent`;
	await waitFor('the servers to hear of it', async () => {
		const entries = await cluster.agent.json<readonly { readonly ServiceMeta: { readonly round: string } }[]>({ path });
		return entries.some(({ ServiceMeta }) => ServiceMeta.round === round);
	});
}

async function indexOf(service: number): Promise<number> {
	const { status, index } = await cluster.agent.ask({ path: `/v1/health/service/${serviceName(service)}?consistent` });
	expect(status).toBe(200);
	return index;
}
