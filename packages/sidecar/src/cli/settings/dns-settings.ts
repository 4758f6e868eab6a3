import type { Setting } from './settings.ts';

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
		help: 'udp (and tcp for what is too long for it), or tcp always',
		kind: ['udp', 'tcp'],
		fallback: 'udp',
	},
	{
		name: 'dnsTtlMsMin',
		flag: '--dns-ttl-ms-min <ms>',
		env: 'SPOCK_DNS_TTL_MS_MIN',
		help: 'DNS is not asked again before this, whatever its records say',
		kind: 'integer',
		fallback: '1000',
	},
	{
		name: 'dnsTtlMsMax',
		flag: '--dns-ttl-ms-max <ms>',
		env: 'SPOCK_DNS_TTL_MS_MAX',
		help: 'DNS is asked again after this, whatever its records say',
		kind: 'integer',
		fallback: '60000',
	},
];
