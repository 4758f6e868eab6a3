import {
	type ConsulConsistency,
	DEFAULT_CONSUL_ADDRESS,
	DEFAULT_CONSUL_CONSISTENCY,
	DEFAULT_CONSUL_WAIT_MS,
	DEFAULT_DNS_NAME_TEMPLATE,
	DEFAULT_DNS_PROTOCOL,
	DEFAULT_DNS_TTL_MS_MAX,
	DEFAULT_DNS_TTL_MS_MIN,
	DEFAULT_POLLS_PER_MINUTE_MAX,
} from '@spock/discovery';

/** Which backends are asked, and those that read files. */
export const sourceSettings = {
	backend: {
		kind: 'list',
		unit: 'names',
		note: 'spock with --upstream, consul when CONSUL_HTTP_ADDR is set, else local',
		help: 'source of services: consul, local, dns, replay, spock or the path of a module; of several, separated by commas, the first that knows a service',
	},
	services: {
		kind: 'text',
		unit: 'file',
		help: 'services of the local backend, JSON or YAML, read again when it changes',
	},
	record: { kind: 'text', unit: 'file', help: 'file of `sidecar record` for the replay backend' },
	replaySpeed: {
		kind: 'text',
		unit: 'factor',
		default: '1',
		help: 'replay speed, as 60 or 0.5; max replays everything at once',
	},
	replayLoop: {
		kind: 'boolean',
		default: false,
		help: 'start again at the end of the record; otherwise its last state stays',
	},
} as const;

/** The backend that is another sidecar. */
export const upstreamSettings = {
	upstream: {
		kind: 'list',
		unit: 'addresses',
		help: 'sidecars to ask in place of a registry: tls://HOST:PORT, HOST:PORT or unix:PATH, separated by commas; the first that answers is used until it fails',
	},
	upstreamTokenFile: {
		kind: 'text',
		unit: 'file',
		help: 'file with the token for them, read for each connection',
	},
	upstreamCa: {
		kind: 'text',
		unit: 'file',
		note: 'those that Node trusts',
		help: 'authorities of their certificates, in PEM, read for each connection, as the next two are',
	},
	upstreamCert: { kind: 'text', unit: 'file', help: 'certificate of this sidecar for tls://, in PEM' },
	upstreamKey: { kind: 'text', unit: 'file', help: 'private key of that certificate, in PEM' },
} as const;

/** The Consul backend. */
export const consulSettings = {
	consul: {
		kind: 'list',
		unit: 'urls',
		default: [DEFAULT_CONSUL_ADDRESS as string],
		variable: 'CONSUL_HTTP_ADDR',
		help: 'addresses of Consul, separated by commas',
	},
	consulToken: { kind: 'text', variable: 'CONSUL_HTTP_TOKEN', isSecret: true, help: 'ACL token' },
	consulAuth: {
		kind: 'text',
		variable: 'CONSUL_HTTP_AUTH',
		isSecret: true,
		help: 'USER:PASSWORD for a proxy in front of Consul that asks for HTTP basic authentication',
	},
	consulTokenFile: {
		kind: 'text',
		unit: 'file',
		variable: 'CONSUL_HTTP_TOKEN_FILE',
		help: 'file with the ACL token, read again for every query',
	},
	consulDatacenter: { kind: 'text', unit: 'name', note: "the agent's own", help: 'datacenter to ask' },
	consulConsistency: {
		kind: ['stale', 'default', 'consistent'],
		unit: 'mode',
		default: DEFAULT_CONSUL_CONSISTENCY as ConsulConsistency,
		help: "which of Consul's servers may answer: any (stale), the leader (default), or the verified leader (consistent)",
	},
	consulNamespace: {
		kind: 'text',
		unit: 'name',
		note: "the token's own",
		variable: 'CONSUL_NAMESPACE',
		help: 'namespace to ask (Consul Enterprise)',
	},
	consulPartition: {
		kind: 'text',
		unit: 'name',
		note: "the agent's own",
		variable: 'CONSUL_PARTITION',
		help: 'admin partition to ask (Consul Enterprise)',
	},
	consulCached: { kind: 'boolean', default: false, help: 'let the local agent answer from its cache' },
	consulTaggedAddress: {
		kind: ['lan', 'lan_ipv4', 'lan_ipv6', 'wan', 'wan_ipv4', 'wan_ipv6'],
		unit: 'tag',
		note: "the instance's own, else its node's",
		help: 'which tagged address of an instance to use, if it has one',
	},
	consulWaitMs: {
		kind: 'duration',
		unit: 'ms',
		default: DEFAULT_CONSUL_WAIT_MS as number,
		help: 'how long Consul may hold a query in which nothing changes, 1s to 10m: less than what a proxy in front of it allows',
	},
	consulHeldMax: {
		kind: 'integer',
		unit: 'count',
		note: 'as many as there is room for',
		help: 'queries held for services at each address, 1 to 10000',
	},
	consulPollsMax: {
		kind: 'integer',
		unit: 'count',
		default: DEFAULT_POLLS_PER_MINUTE_MAX as number,
		help: 'queries a minute for all services beyond those, which are polled, 2 to 1000000',
	},
	consulLoginMethod: {
		kind: 'text',
		unit: 'name',
		note: 'no login',
		help: 'auth method to log in with, in place of a given ACL token',
	},
	consulLoginTokenFile: {
		kind: 'text',
		unit: 'file',
		note: "the pod's service-account token",
		help: 'file with the bearer token, read for each login',
	},
	consulLoginMeta: {
		kind: 'list',
		unit: 'pairs',
		help: 'stored with the token in Consul: name=value, separated by commas',
	},
} as const;

/** Consul's own variables that are no setting: they are followed as they are. With the meaning of each, in Markdown. */
export const CONSUL_VARIABLES: Readonly<Record<string, string>> = {
	CONSUL_HTTP_SSL: '`true`: an address without a scheme is https',
	CONSUL_HTTP_SSL_VERIFY: "`false`: the server's certificate is not verified",
	CONSUL_CACERT: 'file with the authorities to trust, in PEM',
	CONSUL_CAPATH: 'directory of such files; not used where `CONSUL_CACERT` is given',
	CONSUL_CLIENT_CERT: 'certificate of the sidecar for agents and servers that want one, in PEM',
	CONSUL_CLIENT_KEY: 'private key of that certificate',
	CONSUL_TLS_SERVER_NAME: "the name to expect in the server's certificate",
};

/** The DNS backend. */
export const dnsSettings = {
	dnsServer: {
		kind: 'list',
		unit: 'addresses',
		note: "the system's",
		help: 'name servers of the dns backend, IP addresses with or without a port, separated by commas',
	},
	dnsNameTemplate: {
		kind: 'text',
		unit: 'template',
		default: DEFAULT_DNS_NAME_TEMPLATE as string,
		help: 'name with the SRV records of a service: with {service}, and {tag} and {datacenter} where queries may have them',
	},
	dnsProtocol: {
		kind: ['udp', 'tcp'],
		unit: 'name',
		default: DEFAULT_DNS_PROTOCOL as 'udp' | 'tcp',
		help: 'udp (and tcp for longer answers), or tcp always',
	},
	dnsTtlMsMin: {
		kind: 'duration',
		unit: 'ms',
		default: DEFAULT_DNS_TTL_MS_MIN as number,
		help: 'least time between two queries of a name, whatever the TTL of its records',
	},
	dnsTtlMsMax: {
		kind: 'duration',
		unit: 'ms',
		default: DEFAULT_DNS_TTL_MS_MAX as number,
		help: 'most time between two queries of a name, whatever the TTL of its records',
	},
} as const;
