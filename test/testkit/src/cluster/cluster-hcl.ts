import type { ConsulPorts } from './consul-network.ts';

/** How the agents of a cluster are configured. */
export interface ClusterHcl {
	readonly addresses: readonly string[];
	readonly servers: number;
	readonly ports: ConsulPorts;
	/** The token that may do everything; the agents use it too. */
	readonly managementToken: string;
	/** Connections that an agent takes from one client. Default: Consul's own, 200. */
	readonly connectionsMax?: number | undefined;
}

/** Configuration that every agent of the cluster has, in HCL. */
export function clusterHcl({ addresses, servers, ports, managementToken, connectionsMax }: ClusterHcl): string[] {
	const join = addresses.slice(0, servers).map((address) => `"${address}:${ports.serfLan}"`);
	return [
		'disable_update_check = true log_level = "warn"',
		`ports { http = ${ports.http} server = ${ports.server} serf_lan = ${ports.serfLan} serf_wan = -1 dns = -1 grpc = -1 grpc_tls = -1 }`,
		`retry_join = [${join.join(', ')}] retry_interval = "500ms" rejoin_after_leave = true`,
		// Half of Consul's own times: a member that is silent is suspected after half a second and failed some seconds later.
		'gossip_lan { probe_interval = "500ms" probe_timeout = "250ms" suspicion_mult = 3 }',
		// What Consul advises for production; the default is for the smallest machines.
		'performance { raft_multiplier = 1 leave_drain_time = "500ms" }',
		'connect { enabled = false }',
		// An agent remembers what a token may do for this long: the default of 30 s would be the length of the test.
		'acl { enabled = true default_policy = "deny" token_ttl = "1s" policy_ttl = "1s" role_ttl = "1s" }',
		`acl { tokens { agent = "${managementToken}" } }`,
		...(connectionsMax === undefined ? [] : [`limits { http_max_conns_per_client = ${connectionsMax} }`]),
	];
}

/** What the servers have besides. */
export function serverHcl({ servers, managementToken }: ClusterHcl): string[] {
	return [
		`server = true bootstrap_expect = ${servers}`,
		// A server that is away for a test is no reason to forget it, and one that is back may vote at once.
		'autopilot { cleanup_dead_servers = false server_stabilization_time = "500ms" }',
		`acl { tokens { initial_management = "${managementToken}" } }`,
	];
}
