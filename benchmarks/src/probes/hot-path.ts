import { createPicker } from '@spock/balancer';
import { BackendSource } from '@spock/discovery';
import {
	encodePayload,
	encodeReply,
	encodeRequestTail,
	FrameDecoder,
	InFlightRing,
	readClientMessage,
	type ServiceInstance,
	type ServiceSnapshot,
} from '@spock/protocol';
import { FrameHeads, TextMemo } from '@spock/protocol/internal';

import { ADDRESS, SERVICE } from '../servers/catalogue.ts';
import { manualBackend } from './manual-backend.ts';

/** One part of the hot path, done once. */
export type Operation = readonly [what: string, run: () => unknown];

/** The parts that every call goes through. */
export function hotPath(): readonly Operation[] {
	const ring = new InFlightRing<object>();
	const call = {};
	const heads = new FrameHeads();
	let id = 1_000_000;
	const tail = encodeRequestTail('getService', encodePayload({ service: SERVICE }));
	const payload = encodePayload(ADDRESS);
	const request = `{"id":4711${tail}`.trimEnd();
	const replies = Buffer.from(
		Array.from({ length: 100 }, (_, index) => encodeReply(1_000_000 + index, payload)).join(''),
	);
	let lastFrame = '';
	const decoder = new FrameDecoder({
		frame: (text) => {
			lastFrame = text;
		},
		fault: () => undefined,
	});
	const memo = new TextMemo<object>({ countMax: 1024, lengthMax: 512 });
	memo.remember(payload, ADDRESS);
	const chunk = replies.toString('latin1');
	const start = chunk.indexOf(payload);
	const snapshot = tenInstances();
	const roundRobin = createPicker('round-robin', snapshot);
	const weighted = createPicker('weighted', snapshot);
	const hashed = createPicker('consistent-hash', snapshot);
	const zones = { ...snapshot, instances: snapshot.instances.map(inZone) };
	const spilled = createPicker('round-robin', zones, { rules: { zone: 'c' } });
	const local = createPicker('round-robin', zones, { rules: { zone: 'a' } });
	const subset = createPicker('round-robin', snapshot, { rules: { subset: 5, subsetKey: 'bench' } });
	const source = new BackendSource({ backend: manualBackend(snapshot.instances) });
	source.watch({ service: SERVICE }, { next: () => undefined });
	const query = { service: SERVICE };
	return [
		['ring: issue and take', () => ring.take(ring.issue(call))],
		['encoder: head of a request', () => heads.head(id++)],
		['encoder: a reply from a payload', () => encodeReply(id++, payload)],
		[
			'decoder: 100 replies in one chunk',
			() => {
				decoder.push(replies);
				return lastFrame;
			},
		],
		['memo: a payload seen before', () => memo.find(chunk.slice(start, start + payload.length))],
		['reader: a request in full', () => readClientMessage(request)],
		['picker: round-robin of 10', () => roundRobin.pick()],
		['picker: local zone of 10', () => local.pick()],
		['picker: zones of 10, spilled over', () => spilled.pick()],
		['picker: subset of 5 of 10', () => subset.pick()],
		['picker: weighted of 10', () => weighted.pick()],
		['picker: consistent hash of 10', () => hashed.pick({ key: 'user-4711' })],
		['cache: peek', () => source.peek(query)],
	];
}

/** Five in a, three in b, two in c: c has less than the third that its callers need. */
export function inZone(instance: ServiceInstance, index: number): ServiceInstance {
	return { ...instance, zone: index < 5 ? 'a' : index < 8 ? 'b' : 'c' };
}

/** A snapshot of ten passing instances with different weights. */
export function tenInstances(): ServiceSnapshot {
	const instances = Array.from(
		{ length: 10 },
		(_, index): ServiceInstance => ({
			instance: `node-${index}/${SERVICE}-${index}`,
			host: `10.0.0.${index}`,
			port: 8000 + index,
			weight: 1 + (index % 3),
			status: 'passing',
			tags: [],
			meta: {},
			zone: null,
			datacenter: 'dc1',
		}),
	);
	return { service: SERVICE, revision: 1, instances, source: 'live', ageMs: 0, verifiedAt: 1 };
}
