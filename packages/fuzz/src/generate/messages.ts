import type { SeededRandom } from '../random.ts';
import { numberText, stringText, valueText } from './json-text.ts';

/** Members of a frame or of its data: name and JSON text. In order, and a name may come twice. */
type Fields = readonly (readonly [name: string, text: string])[];
type Template = (random: SeededRandom) => Fields;

const services = ['"barista"', '"waiter"', '"nobody"'];
const quote = (text: string): string => JSON.stringify(text);

function objectText(fields: Fields): string {
	return `{${fields.map(([name, text]) => `${quote(name)}:${text}`).join(',')}}`;
}

/** Some of the optional members. */
function some(random: SeededRandom, fields: Fields): Fields {
	return fields.filter(() => random.oneIn(3));
}

const query: Template = (random) => [
	['service', random.pick(services)],
	...some(random, [
		['tags', '["v1","v2"]'],
		['datacenter', '"dc1"'],
		['meta', '{"rack":"b7","zone":""}'],
		['peer', '"east"'],
		['maxAgeMs', String(random.pick([0, 1, 5000, 2147483647]))],
		['key', '"user-7"'],
	]),
];
const keyQuery: Template = (random) => [
	['key', random.pick(['"app/limits"', '"app/"'])],
	...some(random, [
		['prefix', random.pick(['true', 'false'])],
		['datacenter', '"dc1"'],
	]),
];
const registration: Template = (random) => [
	['service', '"barista"'],
	['port', '8765'],
	...some(random, [
		['id', '"barista-1"'],
		['host', '"10.0.0.1"'],
		['tags', '["v1"]'],
		['meta', '{"version":"1","x_y-z":""}'],
		['weights', '{"passing":5,"warning":0}'],
		['taggedAddresses', '{"wan":{"host":"1.2.3.4","port":80},"lan":{"host":"h"}}'],
		[
			'check',
			random.pick(['{"http":"http://127.0.0.1/","intervalMs":1000}', '{"tcp":"127.0.0.1:80","timeoutMs":100}']),
		],
		['bind', random.pick(['"connection"', '"sidecar"'])],
		['status', '"warning"'],
		['note', '"so so"'],
	]),
];

/** Valid data of every function. */
const funcs: Readonly<Record<string, Template | undefined>> = {
	hello: (random) => [
		['versions', random.pick(['[1]', '[1,2]', '[]'])],
		...some(random, [
			['client', '"a/1"'],
			['pid', '7'],
			['features', '["push","goaway"]'],
		]),
	],
	ping: undefined,
	getService: query,
	getInstances: query,
	listServices: (random) => some(random, [['datacenter', '"dc1"']]),
	watchService: query,
	unwatchService: query,
	getKey: keyQuery,
	watchKey: keyQuery,
	unwatchKey: keyQuery,
	registerService: registration,
	reportService: () => [
		['id', '"barista-1"'],
		['status', '"critical"'],
		['note', '"n"'],
	],
	deregisterService: () => [['id', '"barista-1"']],
	status: () => [],
	explain: query,
};

const instance: Template = (random) => [
	['instance', quote(`node/${random.below(4)}`)],
	['host', '"10.0.0.1"'],
	['port', '8080'],
	['weight', random.pick(['1', '0', '7', '0.5'])],
	['status', random.pick(['"passing"', '"warning"', '"critical"', '"maintenance"'])],
	['tags', '["v1"]'],
	['meta', '{"rack":"b7"}'],
	['zone', random.pick(['null', '"eu-1a"'])],
	['datacenter', '"dc1"'],
];
const times = (random: SeededRandom): Fields => [
	['revision', String(random.below(1000))],
	['source', random.pick(['"live"', '"last-known-good"', '"static"'])],
	['ageMs', random.pick(['0', '1500', '0.5'])],
	['verifiedAt', '1800000000000'],
	...some(random, [
		['held', 'true'],
		['panic', 'true'],
	]),
];
const listOf = (random: SeededRandom, template: Template): string =>
	`[${Array.from({ length: random.below(4) }, () => objectText(spoil(random, template(random)))).join(',')}]`;

/** What a sidecar says: of services, addresses, keys, registrations, itself. */
const payloads: readonly Template[] = [
	(random) => [['service', random.pick(services)], ...times(random), ['instances', listOf(random, instance)]],
	(random) => [...instance(random).slice(0, 3), ['stale', 'true'], ...times(random)],
	(random) => [
		['key', '"app/limits"'],
		...times(random),
		['value', random.pick(['null', '"v"', '"AP8="'])],
		['encoding', random.pick(['"base64"', 'null'])],
	],
	(random) => [
		['key', '"app/"'],
		['prefix', 'true'],
		...times(random),
		[
			'entries',
			listOf(random, () => [
				['key', '"app/a"'],
				['value', '"1"'],
			]),
		],
	],
	(random) => [
		[
			'services',
			listOf(random, () => [
				['name', '"barista"'],
				['tags', '["v1"]'],
			]),
		],
		...times(random),
	],
	() => [
		['id', '"barista-1"'],
		['service', '"barista"'],
		['instance', '"n/b"'],
		['state', '"registered"'],
		['error', 'null'],
	],
	(random) => [
		['version', random.pick(['1', '1', '1', '2'])],
		['sidecar', '"s/1"'],
		['instance', '"u"'],
		['features', '["push","goaway"]'],
		['limits', '{"frameBytesMax":1048576,"inFlightMax":65536}'],
	],
	(random) => [
		['service', '"barista"'],
		['state', '"fresh"'],
		...times(random),
		['instances', listOf(random, instance)],
		['watchers', '[]'],
		['watcherCount', '0'],
		['held', 'null'],
		['error', 'null'],
	],
	(random) => [
		['reason', '"shutdown"'],
		['graceMs', '1000'],
		['inFlightMax', random.pick(['1', '16', '0', '1e999'])],
	],
];
const codes = [
	'NO_SUCH_SERVICE',
	'UNAVAILABLE',
	'BAD_FRAME',
	'UNKNOWN_FUNC',
	'UNSUPPORTED_VERSION',
	'LATER',
	'TIMEOUT',
];
const failure: Template = (random) => [
	['code', quote(random.pick(codes))],
	['message', '"m"'],
	['retryable', 'false'],
	['details', random.pick(['{}', '{"versions":[2]}', '{"code":1,"__proto__":{"x":1}}'])],
];

/** Structural mutations: a member goes, comes twice, moves, or says something else. */
function spoil(random: SeededRandom, fields: Fields): Fields {
	if (!random.oneIn(4) || fields.length === 0) return fields;
	const spoilt = [...fields];
	const at = random.below(spoilt.length);
	const [name] = spoilt[at] as Fields[number];
	const kind = random.below(6);
	if (kind === 0) spoilt.splice(at, 1);
	else if (kind === 1) spoilt.push([name, valueText(random)]);
	else if (kind === 2) spoilt.reverse();
	else if (kind === 3)
		spoilt.push([random.pick(['__proto__', 'constructor', 'toString', 'then', 'x']), valueText(random)]);
	else spoilt[at] = [name, random.oneIn(2) ? valueText(random) : random.pick(['null', '""', '{}', '[]', '0', '-1'])];
	return spoilt;
}

function idText(random: SeededRandom): string {
	if (random.oneIn(12)) return valueText(random, 4);
	return random.oneIn(8) ? numberText(random) : String(random.between(0, 24));
}

function dataText(random: SeededRandom, template: Template | undefined): string {
	if (template === undefined || random.oneIn(24)) return valueText(random);
	return objectText(spoil(random, template(random)));
}

/** A frame that a client may send, or nearly. */
export function clientFrame(random: SeededRandom): string {
	if (random.oneIn(16))
		return objectText(
			spoil(random, [
				['func', '"cancel"'],
				['data', `{"id":${idText(random)}}`],
			]),
		);
	const func = random.pick(Object.keys(funcs));
	const fields: Fields = [
		['id', idText(random)],
		['func', random.oneIn(24) ? stringText(random) : quote(func)],
		...(random.oneIn(8) ? ([['timeoutMs', random.oneIn(3) ? numberText(random) : '250']] as const) : []),
		...(random.oneIn(16) ? [] : ([['data', dataText(random, funcs[func])]] as const)),
		// The last of two ids counts: a fast path that reads the first one must notice.
		...(random.oneIn(12) ? ([['id', idText(random)]] as const) : []),
	];
	return objectText(spoil(random, fields));
}

/** A frame that a sidecar may send, or nearly. */
export function sidecarFrame(random: SeededRandom): string {
	const data = (): string => dataText(random, random.pick(payloads));
	const kind = random.below(8);
	if (kind < 4)
		return objectText(
			spoil(random, [
				['id', idText(random)],
				['data', data()],
			]),
		);
	if (kind === 4) {
		const id = random.oneIn(6) ? 'null' : idText(random);
		return objectText(
			spoil(random, [
				['id', id],
				['error', dataText(random, failure)],
			]),
		);
	}
	const event = random.pick(['"service"', '"service"', '"key"', '"registration"', '"goaway"', '"window"', '"later"']);
	return objectText(
		spoil(random, [
			['event', event],
			['data', data()],
		]),
	);
}
