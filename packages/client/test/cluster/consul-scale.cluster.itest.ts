import { setTimeout as delay } from 'node:timers/promises';

import { findConsul } from '@spock/testkit';
import { type ConsulCluster, startConsulCluster } from '@spock/testkit/consul-cluster';
import { afterAll, beforeAll, describe, it } from 'vitest';

import { FaultSite, type FaultStep } from './fault-site.ts';
import { apply, deleteInstance, type Operation, putCheck, putInstance, putNodes } from './registry.ts';

const SERVICES = Array.from({ length: 1000 }, (_, service) => service);
const INSTANCES = 20;
/** Spread over all of them. */
const CHANGING = SERVICES.filter((service) => service % 20 === 0);
/** Room for a query of each service at any agent, as docs/guide/consul.md advises for so many. */
const HELD_MAX = 1100;
const CONNECTIONS_MAX = HELD_MAX + 40;
const LAST_MS = 4000;
const QUIET_MS = 1500;

/** Of these a sidecar that has room for few asks in the name of most, and so slowly that it knows of little in time. */
const FEW = SERVICES.slice(0, 100);
const LITTLE_ROOM = ['--consul-held-max', '10', '--consul-polls-max', '120'];

let cluster: ConsulCluster;

beforeAll(async () => {
	cluster = await startConsulCluster({ binary: findConsul(process.env), connectionsMax: CONNECTIONS_MAX });
	await apply(cluster.agent, putNodes(INSTANCES));
	const instances = Array.from({ length: INSTANCES }, (_, instance) => instance);
	await apply(
		cluster.agent,
		SERVICES.flatMap((service) => instances.flatMap((instance) => putInstance(service, instance, '0'))),
	);
});

afterAll(async () => {
	await cluster?.[Symbol.asyncDispose]();
});

describe('32 clients of a sidecar that each look up 1,000 services with 20 instances', () => {
	it('learn of changes all over the registry, before and after SIGKILL of the leader', async () => {
		const sidecarOptions = ['--consul-held-max', String(HELD_MAX)];
		await using site = await FaultSite.start(cluster, { lookedUp: SERVICES, changing: CHANGING }, sidecarOptions);
		const leader = cluster.servers[await cluster.leader()];
		await site.prove('1,000 services with 20 instances each, SIGKILL of the leader', [
			// One kind of change after the other: each reaches a sidecar that watches many services in a way of its own.
			after(site, 'checks that fail', (service) => putCheck(service, 1, 'critical')),
			after(site, 'instances with a check that go', (service) => deleteInstance(service, 3)),
			after(site, 'instances without a check that go', (service) => deleteInstance(service, 2)),
			after(site, 'instances that come', (service, round) => [2, 3].flatMap((one) => putInstance(service, one, round))),
			after(site, 'instances that are edited', (service, round) => putInstance(service, 0, round)),
			{
				label: 'after SIGKILL of the leader',
				harm: async () => {
					await leader?.stop('SIGKILL');
					await delay(LAST_MS);
				},
				change: () => site.changeAll((service) => putCheck(service, 1, 'passing')),
			},
			{
				label: 'after its return',
				harm: async () => {
					leader?.start();
					await cluster.whenWhole();
				},
				change: () => site.changeAll((service) => putCheck(service, 1, 'warning')),
			},
		]);
	});
});

describe('32 clients of a sidecar that has room for 40 of 100 services, and few queries for the rest', () => {
	it('are not told that what has changed unseen is live', async () => {
		const changing = FEW.filter((service) => service % 5 === 0);
		await using site = await FaultSite.start(cluster, { lookedUp: FEW, changing }, LITTLE_ROOM);
		await site.proveHonesty();
	});
});

/** A quiet time, and then a change of many services at once. */
function after(site: FaultSite, label: string, change: (service: number, round: string) => Operation[]): FaultStep {
	return { label, churn: false, harm: () => delay(QUIET_MS), change: () => site.changeAll(change) };
}
