/** One instance in a {@link FakeConsul}; every member has a default but `id`. */
export interface FakeConsulInstance {
	readonly id: string;
	/** Name of its node. Default `node-1`. */
	readonly node?: string;
	/** Default 10.0.0.1. */
	readonly address?: string;
	/** Default 80. */
	readonly port?: number;
	/** Default: null, as Consul says it for none. */
	readonly tags?: readonly string[];
	readonly meta?: Readonly<Record<string, string>>;
	/** Checks of the service. Default: one that passes. */
	readonly checks?: readonly FakeConsulCheck[];
}

/** One check of an instance. */
export interface FakeConsulCheck {
	readonly id?: string;
	/** Default: none. */
	readonly name?: string;
	readonly status: 'passing' | 'warning' | 'critical';
	readonly output?: string;
}

/**
 * An entry of /v1/health/service as Consul writes it.
 * Source: https://developer.hashicorp.com/consul/api-docs/health#list-service-instances-for-service
 */
export function toHealthEntry(
	service: string,
	instance: FakeConsulInstance,
	nodeStatus?: FakeConsulCheck['status'],
): unknown {
	const { id, node = 'node-1', address = '10.0.0.1', port = 80, tags = null, meta = null } = instance;
	return {
		Node: { Node: node, Address: '10.9.9.9', Datacenter: 'dc1', Meta: null },
		Service: { ID: id, Service: service, Address: address, Port: port, Tags: tags, Meta: meta, Weights: null },
		Checks: [...(nodeStatus ? [toNodeCheck(node, nodeStatus)] : []), ...toStateEntries(service, instance)],
	};
}

/** A check of a node itself: it counts for every service there. */
export function toNodeCheck(node: string, status: FakeConsulCheck['status']): unknown {
	return { Node: node, CheckID: 'serfHealth', ServiceID: '', ServiceName: '', Status: status, Output: '' };
}

/**
 * The entries of an instance in /v1/health/state as Consul writes them; the checks of a health entry have the same form.
 * Source: https://developer.hashicorp.com/consul/api-docs/health#list-checks-in-state
 */
export function toStateEntries(service: string, instance: FakeConsulInstance): readonly unknown[] {
	const { id, node = 'node-1', checks = [{ status: 'passing' }] } = instance;
	return checks.map((check, number) => ({
		Node: node,
		CheckID: check.id ?? `service:${id}:${number}`,
		Name: check.name ?? '',
		ServiceID: id,
		ServiceName: service,
		Status: check.status,
		Output: check.output ?? '',
	}));
}
