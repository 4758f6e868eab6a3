// What the workload draws from.

/** Numbers from a seed: mulberry32, by Tommy Ettinger. */
export function seeded(seed: number): () => number {
	let state = seed >>> 0;
	return () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
}

/** Names that Consul takes and answers for, and that look like something else, also in the languages of DNS, SRV and Consul's queries. */
export const ODD_SERVICES: readonly string[] = [
	'api.v1',
	'_barista._tcp',
	'primary.db',
	'web.service.consul',
	'api.query',
	'__proto__',
	'constructor',
	'a b',
	'ä',
	'["v1"]',
	'a,b',
	'a%2Fb',
	'a?dc=x',
	'=config/0',
	'a"b',
	'日本',
	'a/b',
];
export const TAGS: readonly string[] = [
	'v1',
	'v2',
	'a b',
	'["v1"]',
	'__proto__',
	'constructor',
	"x' or '1'=='1",
	'a"b',
	'a\\b',
	'ä',
	'a,b',
	'%',
	'',
];
/** Names of metadata are of letters, digits, - and _ at Consul. */
export const META_NAMES: readonly string[] = ['rack', '__proto__', 'constructor', 'a-b'];
export const META_VALUES: readonly string[] = ['b', 'b7', '', 'a b', '"', '\\', "' or '1'=='1", 'ä', '["b"]'];
export const STATUSES = ['passing', 'passing', 'warning', 'critical'] as const;
export const BAD_PORTS: readonly number[] = [0, 0, 70_000, -1, 65_536, 2_147_483_647];
export const BAD_ADDRESSES: readonly string[] = ['10.0.0.1\r\nX-Evil: 1', 'a b', '\u001b[2J', '10.0.0.1\n'];
export const INSTANCES_MAX = 6;
/** Several services share an address and a port, and some an address alone. */
export const ADDRESSES: readonly string[] = [
	...['10.0.0.1', '10.0.0.2', 'app.example', ''],
	...['::1', 'fd00::a', '::ffff:10.0.0.1', 'fe80::1%eth0', '2001:db8:0:0:0:0:0:1'],
];
export const PORTS: readonly number[] = [8080, 8080, 9090, 1, 65_535];

/** Consul takes 64 pairs, with names of 128 and values of 512 characters. */
export const FULL_META: readonly (readonly [string, string])[] = Array.from({ length: 60 }, (_, at) => [
	`m${at}`.padEnd(128, '-'),
	'v'.repeat(512),
]);

/** Ids of other programs' checks of an instance: all but the last look like an id to which Consul or a sidecar gives a meaning. */
export const CHECK_IDS: readonly ((id: string) => string)[] = [
	(id) => `_node_maintenance_window_check_${id}`,
	(id) => `_service_maintenance_of_${id}`,
	(id) => `service:web:${id}`,
	(id) => `service:${id}`,
	(id) => `service:${id}:check`,
	(id) => `spock:ttl:x${id}`,
	(id) => `spock:tcp:${id}:1`,
	(id) => `_service_maintenance:x${id}`,
];
