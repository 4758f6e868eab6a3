import type { Setting } from './setting.ts';

/** Settings of the Consul backend beyond its addresses, token, datacenter and consistency. */
export const consulSettings: readonly Setting[] = [
	{
		name: 'consulNamespace',
		flag: '--consul-namespace <name>',
		env: 'CONSUL_NAMESPACE',
		help: 'namespace to ask (Consul Enterprise)',
		kind: 'text',
		fallback: "the token's own",
	},
	{
		name: 'consulPartition',
		flag: '--consul-partition <name>',
		env: 'CONSUL_PARTITION',
		help: 'admin partition to ask (Consul Enterprise)',
		kind: 'text',
		fallback: "the agent's own",
	},
	{
		name: 'consulCached',
		flag: '--consul-cached',
		env: 'SPOCK_CONSUL_CACHED',
		help: 'let the local agent answer from its cache',
		kind: 'boolean',
		fallback: 'false',
	},
	{
		name: 'consulNear',
		flag: '--consul-near <node>',
		env: 'SPOCK_CONSUL_NEAR',
		help: 'node by whose distance Consul sorts; _agent for the queried one',
		kind: 'text',
		fallback: 'none',
	},
	{
		name: 'consulTaggedAddress',
		flag: '--consul-tagged-address <tag>',
		env: 'SPOCK_CONSUL_TAGGED_ADDRESS',
		help: 'which tagged address of an instance to use, if it has one',
		kind: ['lan', 'lan_ipv4', 'lan_ipv6', 'wan', 'wan_ipv4', 'wan_ipv6'],
		fallback: "the instance's own, else its node's",
	},
	{
		name: 'consulHeldMax',
		flag: '--consul-held-max <count>',
		env: 'SPOCK_CONSUL_HELD_MAX',
		help: 'queries held for services at each address, 1 to 10000: 40 below http_max_conns_per_client of Consul',
		kind: 'integer',
		fallback: '150',
	},
	{
		name: 'consulSharedQueriesMax',
		flag: '--consul-shared-queries-max <count>',
		env: 'SPOCK_CONSUL_SHARED_QUERIES_MAX',
		help: 'queries a minute for all services beyond those, 2 to 1000000',
		kind: 'integer',
		fallback: '3000',
	},
	{
		name: 'consulLoginMethod',
		flag: '--consul-login-method <name>',
		env: 'SPOCK_CONSUL_LOGIN_METHOD',
		help: 'auth method to log in with, in place of a given ACL token',
		kind: 'text',
		fallback: 'no login',
	},
	{
		name: 'consulLoginTokenFile',
		flag: '--consul-login-token-file <file>',
		env: 'SPOCK_CONSUL_LOGIN_TOKEN_FILE',
		help: 'file with the bearer token, read for each login',
		kind: 'text',
		fallback: "the pod's service-account token",
	},
	{
		name: 'consulLoginMeta',
		flag: '--consul-login-meta <pairs>',
		env: 'SPOCK_CONSUL_LOGIN_META',
		help: 'stored with the token in Consul: name=value, separated by commas',
		kind: 'list',
		fallback: 'none',
	},
];

/** Settings of the DNS backend. */
export const dnsSettings: readonly Setting[] = [
	{
		name: 'dnsServer',
		flag: '--dns-server <addresses>',
		env: 'SPOCK_DNS_SERVER',
		help: 'name servers of the dns backend, IP addresses with or without a port, separated by commas',
		kind: 'list',
		fallback: "the system's",
	},
	{
		name: 'dnsNameTemplate',
		flag: '--dns-name-template <template>',
		env: 'SPOCK_DNS_NAME_TEMPLATE',
		help: 'the name whose SRV records are a service, with {service}, and {tag} and {datacenter} where they may be asked for',
		kind: 'text',
		fallback: "Consul's, [{tag}.]{service}.service[.{datacenter}.dc].consul",
	},
	{
		name: 'dnsProtocol',
		flag: '--dns-protocol <name>',
		env: 'SPOCK_DNS_PROTOCOL',
		help: 'udp (and tcp for longer answers), or tcp always',
		kind: ['udp', 'tcp'],
		fallback: 'udp',
	},
	{
		name: 'dnsTtlMsMin',
		flag: '--dns-ttl-ms-min <ms>',
		env: 'SPOCK_DNS_TTL_MS_MIN',
		help: 'least time between two queries of a name, whatever the TTL of its records',
		kind: 'integer',
		fallback: '1000',
	},
	{
		name: 'dnsTtlMsMax',
		flag: '--dns-ttl-ms-max <ms>',
		env: 'SPOCK_DNS_TTL_MS_MAX',
		help: 'most time between two queries of a name, whatever the TTL of its records',
		kind: 'integer',
		fallback: '60000',
	},
];

/** Settings of the replay backend. */
export const replaySettings: readonly Setting[] = [
	{
		name: 'record',
		flag: '--record <file>',
		env: 'SPOCK_RECORD',
		help: 'file of `sidecar record` for the replay backend',
		kind: 'text',
		fallback: 'none',
	},
	{
		name: 'replaySpeed',
		flag: '--replay-speed <factor>',
		env: 'SPOCK_REPLAY_SPEED',
		help: 'replay speed, as 60 or 0.5; max replays everything at once',
		kind: 'text',
		fallback: '1',
	},
	{
		name: 'replayLoop',
		flag: '--replay-loop',
		env: 'SPOCK_REPLAY_LOOP',
		help: 'start again at the end of the record; otherwise its last state stays',
		kind: 'boolean',
		fallback: 'false',
	},
];
