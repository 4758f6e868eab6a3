import type { FuncName } from '@spock/protocol';

import type { SeededRandom } from '../random.ts';
import {
	dataText,
	type Fields,
	idText,
	nameOr,
	objectText,
	quote,
	services,
	some,
	spoil,
	type Template,
} from './fields.ts';
import { numberText, stringText } from './json-text.ts';

const query: Template = (random) => [
	['service', nameOr(random, random.pick(services))],
	...some(random, [
		['tags', `["v1",${nameOr(random, '"v2"')}]`],
		['datacenter', nameOr(random, '"dc1"')],
		['meta', `{${nameOr(random, '"rack"')}:${nameOr(random, '"b7"')},"zone":""}`],
		['peer', nameOr(random, '"east"')],
		['maxAgeMs', String(random.pick([0, 1, 5000, 2147483647]))],
		['key', nameOr(random, '"user-7"')],
	]),
];
const keyQuery: Template = (random) => [
	['key', nameOr(random, random.pick(['"app/limits"', '"app/"']))],
	...some(random, [
		['prefix', random.pick(['true', 'false'])],
		['datacenter', '"dc1"'],
	]),
];
const streamName: Template = (random) => [['stream', nameOr(random, random.pick(['"orders"', '"a.b-c_d"']))]];
const event: Template = (random) => [
	...streamName(random),
	...some(random, [
		['key', nameOr(random, '"c-1"')],
		['id', nameOr(random, '"o-7"')],
		['at', random.oneIn(4) ? numberText(random) : '1767225600000'],
		['version', random.pick(['1', '1000000000', '0'])],
		['traceparent', '"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"'],
		['headers', `{"a":${nameOr(random, '"b"')},"c":""}`],
	]),
	...(random.oneIn(6) ? ([['encoding', random.pick(['"base64"', '"hex"'])]] as const) : []),
	['payload', random.pick(['{"total":5}', '"AAEC"', 'null', '[1e400]', '12345678901234567890'])],
];
const from = (random: SeededRandom): string =>
	random.pick(['"new"', '"first"', '{"position":7}', '{"time":1767225600000}', '{"position":1,"time":1}', '"last"']);
const registration: Template = (random) => [
	['service', nameOr(random, '"barista"')],
	['port', '8765'],
	...some(random, [
		['id', nameOr(random, '"barista-1"')],
		['host', nameOr(random, '"10.0.0.1"')],
		['tags', `[${nameOr(random, '"v1"')}]`],
		['meta', `{"version":${nameOr(random, '"1"')},"x_y-z":""}`],
		['weights', '{"passing":5,"warning":0}'],
		['taggedAddresses', '{"wan":{"host":"1.2.3.4","port":80},"lan":{"host":"h"}}'],
		[
			'check',
			random.pick(['{"http":"http://127.0.0.1/","intervalMs":1000}', '{"tcp":"127.0.0.1:80","timeoutMs":100}']),
		],
		['bind', random.pick(['"connection"', '"sidecar"'])],
		['status', '"warning"'],
		['note', nameOr(random, '"so so"')],
	]),
];

/** Valid data of every function. */
const funcs: Readonly<Record<FuncName, Template | undefined>> = {
	hello: (random) => [
		['versions', random.pick(['[1]', '[1,2]', '[]'])],
		...some(random, [
			['client', '"a/1"'],
			['library', nameOr(random, '"lib/1"')],
			['sidecar', nameOr(random, '"another"')],
			['pid', '7'],
			['features', '["push","goaway","deltas","parts","lists"]'],
			['heartbeatMs', random.pick(['1', '60000', '0'])],
			['secret', random.pick(['"0123456789abcdef"', '"0123456789abcde"'])],
		]),
		...(random.oneIn(2) ? ([['frameBytesMax', random.pick(['1024', '1024', '1025', '2048', '1e9'])]] as const) : []),
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
	reportService: (random) => [
		['id', nameOr(random, '"barista-1"')],
		['status', '"critical"'],
		['note', nameOr(random, '"n"')],
	],
	deregisterService: () => [['id', '"barista-1"']],
	openProducer: (random) => [
		['producer', nameOr(random, '"p-1"')],
		...some(random, [
			['epoch', random.pick(['1', '0', '140737488355329'])],
			['persisted', random.pick(['0', '41', '-1'])],
		]),
	],
	publish: (random) => [
		...event(random),
		...some(random, [['until', random.pick(['"persisted"', '"stored"', '"accepted"'])]]),
	],
	openConsumer: (random) => [
		...streamName(random),
		...some(random, [
			['group', nameOr(random, '"billing"')],
			['from', from(random)],
			['inFlightMax', random.pick(['1', '4096', '4097'])],
			['ackWaitMs', random.pick(['1', '2147483647', '0'])],
			['attempts', random.pick(['0', '5'])],
			['order', random.pick(['"none"', '"key"', '"stream"', '"time"'])],
			['filter', `{"keys":[${nameOr(random, '"a"')}],"headers":{"h":"v"}}`],
		]),
	],
	closeConsumer: (random) => [
		['consumer', random.pick(['1', '0', '-1'])],
		...some(random, [['handed', random.pick(['[]', '[1,2]', '[-1]', '[1.5]', '1'])]]),
	],
	deleteGroup: (random) => [...streamName(random), ['group', nameOr(random, '"billing"')]],
	rewindGroup: (random) => [...streamName(random), ['group', nameOr(random, '"billing"')], ['to', from(random)]],
	status: () => [],
	explain: query,
};

const states = ['"spock=1"', '"a=\\"b\\\\"', '"spock=1,vendor=x y"', '"é=1"', '""'];

/** The trace that a request belongs to, or nearly. */
function trace(random: SeededRandom): Fields {
	const traceId = random.oneIn(8) ? random.pick(['0'.repeat(32), 'A'.repeat(32)]) : '0af7651916cd43dd8448eb211c80319c';
	const spanId = random.oneIn(8) ? random.pick(['0'.repeat(16), 'b7ad6b716920333']) : 'b7ad6b7169203331';
	const version = random.oneIn(8) ? random.pick(['ff', '01', '0', '']) : '00';
	const state = random.oneIn(4) ? quote('s'.repeat(512 + random.below(2))) : random.pick(states);
	return [
		['traceparent', random.oneIn(12) ? stringText(random) : quote(`${version}-${traceId}-${spanId}-01`)],
		...(random.oneIn(3) ? ([['tracestate', state]] as const) : []),
	];
}

/** What is never answered, where events are taken. */
function noticeOfEvents(random: SeededRandom): string {
	const func = random.pick(['uplink', 'event', 'event', 'ack', 'ack', 'nack', 'term', 'extend']);
	const data = random.pick(['{"ticket":"t"}', '{"consumer":1,"n":[7]}', '{"stream":"s","payload":1}', 'null']);
	return objectText(
		spoil(random, [
			['seq', numberText(random)],
			['func', quote(func)],
			['data', data],
		]),
	);
}

/** A frame that a client may send, or nearly. */
export function clientFrame(random: SeededRandom): string {
	if (random.oneIn(32)) return noticeOfEvents(random);
	if (random.oneIn(16))
		return objectText(
			spoil(random, [
				['func', '"cancel"'],
				['data', `{"id":${idText(random)}}`],
			]),
		);
	// What apps ask most, and what fails with the most words.
	const func = random.oneIn(4) ? 'getService' : random.pick(Object.keys(funcs) as FuncName[]);
	const fields: Fields = [
		['id', idText(random)],
		...(random.oneIn(8) ? trace(random) : []),
		['func', random.oneIn(24) ? stringText(random) : quote(func)],
		...(random.oneIn(8) ? ([['timeoutMs', random.oneIn(3) ? numberText(random) : '250']] as const) : []),
		...(random.oneIn(16) ? [] : ([['data', dataText(random, funcs[func])]] as const)),
		// The last of two ids counts: a fast path that reads the first one must notice.
		...(random.oneIn(12) ? ([['id', idText(random)]] as const) : []),
	];
	return objectText(spoil(random, fields));
}
