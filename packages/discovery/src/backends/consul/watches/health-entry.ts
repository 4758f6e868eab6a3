import type { CheckStatus, InstanceStatus, ServiceInstance } from '@spock/protocol';
import { isObject } from '@spock/protocol/internal';

import { goodInstances } from '../../../foundation/good-instances.ts';
import { rememberChecks } from '../../../foundation/instance-notes.ts';
import { OWNER_META } from '../../../foundation/registration-place.ts';
import { sortInstances } from '../../../foundation/snapshot-diff.ts';

interface HealthCheck {
	readonly CheckID?: string;
	readonly Name?: string;
	readonly Status?: string;
}

/** Source: https://developer.hashicorp.com/consul/docs/manage-traffic/route-local */
interface Locality {
	readonly Zone?: string;
}

/** The parts of one entry of /v1/health/service that are used, as they should be: Consul checks neither ports nor hosts. */
export interface HealthEntry {
	readonly Node?: {
		readonly Node?: string;
		readonly Address?: string;
		/** Plain addresses by their tag. */
		readonly TaggedAddresses?: Readonly<Record<string, string>> | null;
		readonly Datacenter?: string;
		readonly Meta?: Readonly<Record<string, string>> | null;
		readonly Locality?: Locality | null;
	};
	readonly Service?: {
		readonly ID?: string;
		/** Greater for what was registered later. */
		readonly CreateIndex?: number;
		readonly Address?: string;
		readonly Port?: number;
		/** Unlike a node's, each has a port as well. */
		readonly TaggedAddresses?: Readonly<Record<string, { readonly Address?: string; readonly Port?: number }>> | null;
		readonly Tags?: readonly string[] | null;
		readonly Meta?: Readonly<Record<string, string>> | null;
		readonly Locality?: Locality | null;
		readonly Weights?: { readonly Passing?: number; readonly Warning?: number } | null;
	};
	readonly Checks?: readonly HealthCheck[] | null;
}

/** The addresses that Consul knows by a tag: of the local network or of the one between datacenters, of one family or any. */
export const taggedAddresses = ['lan', 'lan_ipv4', 'lan_ipv6', 'wan', 'wan_ipv4', 'wan_ipv6'] as const;
export type TaggedAddress = (typeof taggedAddresses)[number];

type Node = NonNullable<HealthEntry['Node']>;
type Service = NonNullable<HealthEntry['Service']>;

const NO_TAGS: readonly string[] = Object.freeze([]);
const NO_META: Readonly<Record<string, string>> = Object.freeze({});
const UNREADABLE_CHECK: CheckStatus = Object.freeze({ id: '', name: '', status: 'unknown' });
/** Source: https://github.com/hashicorp/consul/blob/v1.20.2/api/agent.go (NodeMaint, ServiceMaintPrefix) */
const NODE_MAINTENANCE = '_node_maintenance';
const SERVICE_MAINTENANCE_START = '_service_maintenance:';

/**
 * The instances of an answer of /v1/health/service, sorted and frozen, without entries that are bad: what was left out, and the
 * checks, are remembered beside them, for explain.
 * A check's output is never looked at: it changes all the time, says nothing that a reader acts on, and may hold secrets.
 * Source: https://developer.hashicorp.com/consul/api-docs/health#list-service-instances-for-service
 */
export function readHealthEntries(
	entries: readonly unknown[],
	taggedAddress?: TaggedAddress,
): readonly ServiceInstance[] {
	const read = entries.map((entry) => readHealthEntry(entry, taggedAddress));
	return goodInstances(sortInstances(withoutTwins(entries, read)));
}

/** The best first: of two registrations of one instance. */
const FROM_BEST: readonly InstanceStatus[] = ['passing', 'warning', 'maintenance', 'critical'];

/**
 * One registration of each instance. A sidecar whose agent has failed registers at another one, and what the first still has is there
 * until that returns: the same owner, id and address are the same instance. The healthiest is used, and of two alike the newest.
 */
function withoutTwins(entries: readonly unknown[], read: ServiceInstance[]): ServiceInstance[] {
	const best = new Map<string, number>();
	let twins = 0;
	const keys = read.map(({ meta, host, port }, index) => {
		const owner = isObject(meta) ? meta[OWNER_META] : undefined;
		if (typeof owner !== 'string') return undefined;
		const key = JSON.stringify([owner, serviceOf(entries[index]).ID, host, port]);
		const other = best.get(key);
		if (other !== undefined) twins++;
		if (other === undefined || compareTwins(entries, read, index, other) < 0) best.set(key, index);
		return key;
	});
	return twins === 0 ? read : read.filter((_, index) => keys[index] === undefined || best.get(keys[index]) === index);
}

function compareTwins(
	entries: readonly unknown[],
	read: readonly ServiceInstance[],
	left: number,
	right: number,
): number {
	const rank = (index: number): number => FROM_BEST.indexOf(read[index]?.status as InstanceStatus);
	const age = (index: number): number => serviceOf(entries[index]).CreateIndex ?? 0;
	return rank(left) - rank(right) || age(right) - age(left);
}

function serviceOf(entry: unknown): Service {
	const { Service } = (isObject(entry) ? entry : {}) as HealthEntry;
	return isObject(Service) ? Service : {};
}

/**
 * One instance, with whatever stands in its place where that is bad. The node's name is part of its name, because a service's id is
 * unique only within its agent.
 */
function readHealthEntry(entry: unknown, taggedAddress: TaggedAddress | undefined): ServiceInstance {
	const { Node, Checks } = (isObject(entry) ? entry : {}) as HealthEntry;
	const node: Node = isObject(Node) ? Node : {};
	const service = serviceOf(entry);
	const checks = readChecks(Checks);
	const status = worstStatus(checks);
	const weights = service.Weights;
	const weight = (status === 'warning' ? weights?.Warning : weights?.Passing) ?? 1;
	const { Tags, Meta } = service;
	const instance: ServiceInstance = Object.freeze({
		instance: `${text(node.Node)}/${text(service.ID)}`,
		...placeOf({ Node: node, Service: service }, taggedAddress),
		// It says how much work, and not whom it is for: a bad one is as good as none.
		weight: weight >= 0 && Number.isFinite(weight) ? weight : 1,
		status,
		tags: Array.isArray(Tags) ? Object.freeze([...Tags]) : ((Tags ?? NO_TAGS) as readonly string[]),
		meta: isObject(Meta) ? Object.freeze({ ...Meta }) : ((Meta ?? NO_META) as Readonly<Record<string, string>>),
		// What metadata says is the user's own word: it goes before the locality that Consul was configured with.
		zone: Meta?.['zone'] || zoneOf(service) || node.Meta?.['zone'] || zoneOf(node) || null,
		datacenter: node.Datacenter || null,
	});
	rememberChecks(instance, checks);
	return instance;
}

/** Whether what cannot be read has passed is not known: then it has not. */
function readChecks(checks: unknown): readonly CheckStatus[] {
	if (checks === undefined || checks === null) return [];
	return Array.isArray(checks) ? checks.map(readCheck) : [UNREADABLE_CHECK];
}

function readCheck(check: unknown): CheckStatus {
	if (!isObject(check)) return UNREADABLE_CHECK;
	const { CheckID, Name, Status = 'unknown' } = check as HealthCheck;
	const id = text(CheckID);
	// A status of `maintenance` exists in the catalog; the agent's own maintenance is a critical check of a certain name.
	return { id, name: text(Name), status: isMaintenance(id) ? 'maintenance' : text(Status) };
}

/** By Consul's own rule: other programs name checks too. */
function isMaintenance(id: string): boolean {
	return id === NODE_MAINTENANCE || id.startsWith(SERVICE_MAINTENANCE_START);
}

/** Of Consul's locality, which Consul itself uses in its Enterprise edition alone. */
function zoneOf({ Locality }: { readonly Locality?: Locality | null }): string {
	return isObject(Locality) ? text(Locality['Zone']) : '';
}

function text(value: unknown): string {
	return typeof value === 'string' ? value : '';
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
function worstStatus(checks: readonly CheckStatus[]): InstanceStatus {
	let worst: InstanceStatus = 'passing';
	for (const { status } of checks) {
		if (status === 'passing') continue;
		if (status === 'maintenance') return 'maintenance';
		if (status !== 'warning') worst = 'critical';
		else if (worst === 'passing') worst = 'warning';
	}
	return worst;
}
