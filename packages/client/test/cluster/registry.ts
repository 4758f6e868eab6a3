import type { ConsulAgent } from '@spock/testkit/consul-cluster';

import { type HealthEntry, hostOf, instanceId, portOf, printEntries, serviceName } from './addressing.ts';

/** Operations that Consul takes in one transaction. https://developer.hashicorp.com/consul/api-docs/txn */
const OPERATIONS_MAX = 128;
const READS_AT_ONCE = 16;

/** One operation of a transaction. */
export type Operation = Readonly<Record<string, unknown>>;

/** The machine that an instance pretends to run on: the n-th instance of every service is on the n-th one. */
function nodeName(instance: number): string {
	return `node-${instance}`;
}

/** Registers an instance, or changes it: what counts as the change is its `round`. */
export function putInstance(service: number, instance: number, round: string): Operation[] {
	const Node = nodeName(instance);
	const ID = instanceId(service, instance);
	const Service = {
		ID,
		Service: serviceName(service),
		Address: hostOf(service, instance),
		Port: portOf(service),
		Meta: { round },
		Weights: { Passing: 1, Warning: 1 },
	};
	const put = { Service: { Verb: 'set', Node, Service } };
	// Every other one has a check: an instance without one is as healthy, and known in another way.
	if (instance % 2 === 0) return [put];
	return [put, ...putCheck(service, instance, 'passing')];
}

/** What the check of an instance says; only instances with an odd number have one. */
export function putCheck(service: number, instance: number, Status: 'passing' | 'warning' | 'critical'): Operation[] {
	const ID = instanceId(service, instance);
	const Check = { Node: nodeName(instance), CheckID: `check-${ID}`, Name: 'check', Status, ServiceID: ID };
	return [{ Check: { Verb: 'set', Check } }];
}

export function deleteInstance(service: number, instance: number): Operation[] {
	const Service = { ID: instanceId(service, instance), Service: serviceName(service) };
	return [{ Service: { Verb: 'delete', Node: nodeName(instance), Service } }];
}

/** Registers the machines, which must be there before their instances. */
export function putNodes(count: number): Operation[] {
	return Array.from({ length: count }, (_, instance) => {
		const Node = { Node: nodeName(instance), Address: `10.255.255.${instance + 1}` };
		return { Node: { Verb: 'set', Node } };
	});
}

/** Applies operations, as many in one transaction as Consul takes. Rejects when Consul refuses, or does not answer in time. */
export async function apply(agent: ConsulAgent, operations: readonly Operation[], timeoutMs = 10_000): Promise<void> {
	for (let start = 0; start < operations.length; start += OPERATIONS_MAX) {
		const body = operations.slice(start, start + OPERATIONS_MAX);
		await agent.json({ method: 'PUT', path: '/v1/txn', body, timeoutMs });
	}
}

/** What Consul itself has of these services, from its leader. */
export async function readServices(
	agent: ConsulAgent,
	services: readonly string[],
): Promise<Readonly<Record<string, string>>> {
	const found: Record<string, string> = {};
	for (let start = 0; start < services.length; start += READS_AT_ONCE) {
		await Promise.all(
			services.slice(start, start + READS_AT_ONCE).map(async (service) => {
				const path = `/v1/health/service/${service}?consistent`;
				found[service] = printEntries(await agent.json<readonly HealthEntry[]>({ path }));
			}),
		);
	}
	return found;
}
