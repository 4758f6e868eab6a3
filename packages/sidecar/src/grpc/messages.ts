import type {
	ExplainReply,
	InstanceExplanation,
	InstanceStatus,
	ServiceInstance,
	ServiceList,
	ServiceQuery,
	ServiceSnapshot,
	SnapshotSource,
} from '@spock/protocol';
import { queryMembers } from '@spock/protocol/internal';

import { encoderOf } from './definitions.ts';

/** The service of proto/spock/v1/discovery.proto. */
export const DISCOVERY = 'spock.v1.Discovery';

/** A list or text that is empty where nothing is asked for; a map is a list, as it is on the wire: of equal keys the last counts. */
type MessageOf<V> = V extends string | readonly string[]
	? V
	: readonly { readonly key: string; readonly value: string }[];

/** A query, as the requests of Get, Watch and Explain have it: a field of the contract for each member. */
export type QueryMessage = { readonly [M in keyof Required<ServiceQuery>]: MessageOf<Required<ServiceQuery>[M]> };

const SOURCES: Readonly<Record<SnapshotSource, string>> = {
	live: 'SOURCE_LIVE',
	'last-known-good': 'SOURCE_LAST_KNOWN_GOOD',
	static: 'SOURCE_STATIC',
};

const STATUSES: Readonly<Record<InstanceStatus, string>> = {
	passing: 'STATUS_PASSING',
	warning: 'STATUS_WARNING',
	critical: 'STATUS_CRITICAL',
	maintenance: 'STATUS_MAINTENANCE',
};

interface Facts {
	readonly source: SnapshotSource | null;
	readonly ageMs: number;
	readonly verifiedAt: number;
	readonly held?: unknown;
	readonly panic?: boolean | undefined;
}

const getBytes = encoderOf(DISCOVERY, 'Get');
const watchBytes = encoderOf(DISCOVERY, 'Watch');

// A live snapshot is one frozen object until something changes, so its bytes are made once for all who ask.
const ofInstances = new WeakMap<ServiceSnapshot, WeakMap<ServiceInstance, Buffer>>();
const ofSnapshots = new WeakMap<ServiceSnapshot, Buffer>();

/** The question that a request asks, not yet validated: in protobuf what is not given is empty. */
export function questionOf(message: QueryMessage): object {
	const query: Record<string, unknown> = { service: message.service };
	for (const { name, kind } of queryMembers) {
		const value = message[name];
		if (value.length === 0) continue;
		query[name] = kind === 'pairs' ? pairsOf(value as MessageOf<object>) : value;
	}
	return query;
}

function pairsOf(entries: MessageOf<object>): object {
	return Object.fromEntries(entries.map(({ key, value }) => [key, value]));
}

/** The bytes of a GetResponse. */
export function getResponse(instance: ServiceInstance, snapshot: ServiceSnapshot): Buffer {
	let known = ofInstances.get(snapshot);
	if (known === undefined) {
		known = new WeakMap();
		ofInstances.set(snapshot, known);
	}
	let bytes = known.get(instance);
	if (bytes === undefined) {
		bytes = getBytes({ instance: instanceMessage(instance), freshness: freshness(snapshot) });
		known.set(instance, bytes);
	}
	return bytes;
}

/** The bytes of a WatchResponse. */
export function watchResponse(snapshot: ServiceSnapshot): Buffer {
	let bytes = ofSnapshots.get(snapshot);
	if (bytes === undefined) {
		const { service, revision, instances } = snapshot;
		bytes = watchBytes({
			service,
			revision,
			instances: instances.map(instanceMessage),
			freshness: freshness(snapshot),
		});
		ofSnapshots.set(snapshot, bytes);
	}
	return bytes;
}

/** A ListResponse. */
export function listResponse(list: ServiceList): object {
	return { services: list.services, freshness: freshness(list) };
}

/** An ExplainResponse. `streams`: of Watch, for just this question. */
export function explainResponse(reply: ExplainReply, streams: number): object {
	const { service, state, revision, changedAt, error, instances, instanceCount, watcherCount } = reply;
	return {
		service,
		state,
		revision,
		freshness: freshness(reply),
		changed_at_ms: changedAt ?? 0,
		error: error ?? '',
		instances: instances.map(explainedMessage),
		instance_count: instanceCount,
		watcher_count: watcherCount,
		stream_count: streams,
	};
}

function freshness({ source, ageMs, verifiedAt, held, panic }: Facts): object {
	return {
		source: source === null ? 'SOURCE_UNSPECIFIED' : SOURCES[source],
		age_ms: Math.round(ageMs),
		verified_at_ms: Math.round(verifiedAt),
		stale: source === 'last-known-good',
		held: held !== undefined && held !== null,
		panic: panic === true,
	};
}

function instanceMessage({
	instance,
	host,
	port,
	weight,
	status,
	tags,
	meta,
	zone,
	datacenter,
}: ServiceInstance): object {
	return {
		id: instance,
		host,
		port,
		weight,
		status: STATUSES[status],
		tags,
		meta: Object.entries(meta).map(([key, value]) => ({ key, value })),
		zone: zone ?? '',
		datacenter: datacenter ?? '',
	};
}

function explainedMessage(explanation: InstanceExplanation): object {
	const { instance, host, port, weight, status, included, reason, changedAt, checks, zone = '' } = explanation;
	const facts = { host, port, weight, status: STATUSES[status], included, reason, checks, zone };
	return { id: instance, ...facts, changed_at_ms: changedAt ?? 0 };
}
