import type { CheckStatus, InstanceStatus, ServiceInstance } from '@spock/protocol';

import { rememberChecks } from '../instance-checks.ts';
import { sortInstances } from '../snapshot-diff.ts';

interface HealthCheck {
	readonly CheckID?: string;
	readonly Name?: string;
	readonly Status?: string;
}

/** The parts of one entry of /v1/health/service that are used. */
export interface HealthEntry {
	readonly Node?: {
		readonly Node?: string;
		readonly Address?: string;
		/** Plain addresses by their tag. */
		readonly TaggedAddresses?: Readonly<Record<string, string>> | null;
		readonly Datacenter?: string;
		readonly Meta?: Readonly<Record<string, string>> | null;
	};
	readonly Service?: {
		readonly ID?: string;
		readonly Address?: string;
		readonly Port?: number;
		/** Unlike a node's, each has a port as well. */
		readonly TaggedAddresses?: Readonly<Record<string, { readonly Address?: string; readonly Port?: number }>> | null;
		readonly Tags?: readonly string[] | null;
		readonly Meta?: Readonly<Record<string, string>> | null;
		readonly Weights?: { readonly Passing?: number; readonly Warning?: number } | null;
	};
	readonly Checks?: readonly HealthCheck[] | null;
}

/** The addresses that Consul knows by a tag: of the local network or of the one between datacenters, of one family or any. */
export const taggedAddresses = ['lan', 'lan_ipv4', 'lan_ipv6', 'wan', 'wan_ipv4', 'wan_ipv6'] as const;
export type TaggedAddress = (typeof taggedAddresses)[number];

const MAINTENANCE_CHECK = /^_(?:node|service)_maintenance/;

/**
 * The instances of an answer of /v1/health/service, sorted and frozen. Their checks are remembered beside them, for explain.
 * A check's output is never looked at: it changes all the time, says nothing that a reader acts on, and may hold secrets.
 * Source: https://developer.hashicorp.com/consul/api-docs/health#list-service-instances-for-service
 */
export function readHealthEntries(
	entries: readonly HealthEntry[],
	taggedAddress?: TaggedAddress,
): readonly ServiceInstance[] {
	return sortInstances(entries.map((entry) => readHealthEntry(entry, taggedAddress)));
}

/** One instance. The node's name is part of its name, because a service's id is unique only within its agent. */
function readHealthEntry(
	{ Node = {}, Service = {}, Checks }: HealthEntry,
	taggedAddress: TaggedAddress | undefined,
): ServiceInstance {
	const status = worstStatus(Checks ?? []);
	const weights = Service.Weights;
	const weight = (status === 'warning' ? weights?.Warning : weights?.Passing) ?? 1;
	const instance: ServiceInstance = Object.freeze({
		instance: `${Node.Node ?? ''}/${Service.ID ?? ''}`,
		...placeOf({ Node, Service }, taggedAddress),
		weight,
		status,
		tags: Object.freeze([...(Service.Tags ?? [])]),
		meta: Object.freeze({ ...Service.Meta }),
		zone: Service.Meta?.['zone'] || Node.Meta?.['zone'] || null,
		datacenter: Node.Datacenter || null,
	});
	rememberChecks(instance, (Checks ?? []).map(readCheck));
	return instance;
}

function readCheck({ CheckID = '', Name = '', Status = 'unknown' }: HealthCheck): CheckStatus {
	// A status of `maintenance` exists in the catalog; the agent's own maintenance is a critical check of a certain name.
	return { id: CheckID, name: Name, status: MAINTENANCE_CHECK.test(CheckID) ? 'maintenance' : Status };
}

/**
 * Where an instance is. In this order: its own tagged address, with the port of that one unless it is 0; its own address; its
 * node's tagged address; its node's. An instance with an address of its own is not on its node's, whatever tags that one has.
 * A tag of one family (`wan_ipv6`) falls back to that of its network (`wan`).
 * Source: https://developer.hashicorp.com/consul/api-docs/agent/service#taggedaddresses
 */
function placeOf(
	{ Node = {}, Service = {} }: HealthEntry,
	taggedAddress: TaggedAddress | undefined,
): { readonly host: string; readonly port: number } {
	const port = Service.Port ?? 0;
	const tags = taggedAddress === undefined ? [] : [taggedAddress, taggedAddress.slice(0, 3)];
	const own = tags.map((tag) => Service.TaggedAddresses?.[tag]).find((tagged) => tagged?.Address);
	if (own?.Address) return { host: own.Address, port: own.Port || port };
	const ofNode = tags.map((tag) => Node.TaggedAddresses?.[tag]).find((address) => address);
	return { host: Service.Address || ofNode || Node.Address || '', port };
}

/** Maintenance over critical over warning over passing; no checks are passing; an unknown status is critical. */
function worstStatus(checks: readonly HealthCheck[]): InstanceStatus {
	let worst: InstanceStatus = 'passing';
	for (const { CheckID = '', Status } of checks) {
		if (Status === 'passing') continue;
		if (Status === 'maintenance' || MAINTENANCE_CHECK.test(CheckID)) return 'maintenance';
		if (Status !== 'warning') worst = 'critical';
		else if (worst === 'passing') worst = 'warning';
	}
	return worst;
}
