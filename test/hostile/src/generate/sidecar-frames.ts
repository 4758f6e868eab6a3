import type { SeededRandom } from '../random.ts';
import {
	dataText,
	type Fields,
	hostileMember,
	idText,
	objectText,
	quote,
	services,
	some,
	spoil,
	type Template,
} from './fields.ts';
import { stringText } from './json-text.ts';

const instance: Template = (random) => [
	['instance', quote(`node/${random.below(4)}`)],
	['host', '"10.0.0.1"'],
	['port', '8080'],
	['weight', random.pick(['1', '0', '7', '0.5', '1e999'])],
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
const listOf = (random: SeededRandom, template: Template): string => {
	const one = (): string => objectText(hostileMember(random, spoil(random, template(random))));
	return `[${Array.from({ length: random.below(4) }, one).join(',')}]`;
};

const snapshot: Template = (random) => [
	['service', random.pick(services)],
	...times(random),
	['instances', listOf(random, instance)],
];
const delta: Template = (random) => [
	['service', random.pick(services)],
	...times(random),
	['base', String(random.below(4))],
	['changed', listOf(random, instance)],
	['gone', random.pick(['[]', '["node/1"]', '["node/0","node/2"]', '[null]', '{}'])],
];
const inParts: Template = (random) => [
	['service', random.pick(services)],
	...times(random),
	['parts', `{"of":${random.below(2)},"count":${random.below(3)}}`],
];
const part: Template = (random) => [
	['of', String(random.below(2))],
	['index', random.pick(['0', '0', '1', '2', '-1', '1e999'])],
	[random.oneIn(4) ? 'services' : 'instances', listOf(random, instance)],
];
const registered: Template = () => [
	['id', '"barista-1"'],
	['service', '"barista"'],
	['instance', '"n/b"'],
	['state', '"registered"'],
	['error', 'null'],
];
/** The id under which check-client.ts asks for its registration. */
const REGISTER_ID = '11';
/** What belongs to a push: every other one holds that, and the rest anything. */
const pushed: Readonly<Record<string, Template>> = {
	'"service"': (random) => random.pick([snapshot, delta, inParts])(random),
	'"part"': part,
	'"registration"': registered,
};

/** What a sidecar says: of services, addresses, keys, registrations, itself. */
const payloads: readonly Template[] = [
	snapshot,
	inParts,
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
	registered,
	(random) => [
		['version', random.pick(['1', '1', '1', '2'])],
		['sidecar', '"s/1"'],
		['instance', '"u"'],
		['features', '["push","goaway","deltas","parts","lists"]'],
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
const EVENTS = ['service', 'service', 'part', 'key', 'registration', 'goaway', 'window', 'later'].map(quote);
const codes = [
	'NO_SUCH_SERVICE',
	'UNAVAILABLE',
	'BAD_FRAME',
	'UNKNOWN_FUNC',
	'UNSUPPORTED_VERSION',
	'LATER',
	'TIMEOUT',
	'constructor',
	'toString',
];
const failure: Template = (random) => [
	['code', quote(random.pick(codes))],
	['message', '"m"'],
	['retryable', 'false'],
	['details', random.pick(['{}', '{"versions":[2]}', '{"code":1,"__proto__":{"x":1}}'])],
];

/** A frame that a sidecar may send, or nearly. */
export function sidecarFrame(random: SeededRandom): string {
	const kind = random.below(8);
	const payload = random.pick(payloads);
	if (kind < 4)
		return objectText(
			spoil(random, [
				['id', payload === registered && random.oneIn(2) ? REGISTER_ID : idText(random)],
				['data', dataText(random, payload)],
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
	const data = dataText(random, payload);
	const event = random.oneIn(24) ? stringText(random) : random.pick(EVENTS);
	return objectText(
		spoil(random, [
			['event', event],
			['data', random.oneIn(2) ? dataText(random, pushed[event] ?? payload) : data],
		]),
	);
}
