import type { Setting } from './setting.ts';

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

/** Settings of the replay backend. */
export const replaySettings: readonly Setting[] = [
	{
		name: 'record',
		flag: '--record <file>',
		env: 'SPOCK_RECORD',
		help: 'what the replay backend plays, as `sidecar record` has written it',
		kind: 'text',
		fallback: 'none',
	},
	{
		name: 'replaySpeed',
		flag: '--replay-speed <factor>',
		env: 'SPOCK_REPLAY_SPEED',
		help: 'how much faster than it was recorded, as 60 or 0.5; max tells its end at once',
		kind: 'text',
		fallback: '1',
	},
	{
		name: 'replayLoop',
		flag: '--replay-loop',
		env: 'SPOCK_REPLAY_LOOP',
		help: 'begin again when the record is over; otherwise what it told last stays',
		kind: 'boolean',
		fallback: 'false',
	},
];
