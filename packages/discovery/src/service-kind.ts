import {
	isServing,
	normaliseQuery,
	queryKey,
	type ServiceInstance,
	type ServiceQuery,
	type ServiceSnapshot,
	type WatchStatus,
} from '@spock/protocol';

import type { AnswerKind, EntryStatus } from './answer-kind.ts';
import type { Backend } from './backend.ts';
import { diffInstances, isSameList } from './snapshot-diff.ts';

type Instances = readonly ServiceInstance[];

/** Questions for the instances of a service. */
export function serviceKind(backend: Backend): AnswerKind<ServiceQuery, Instances, ServiceSnapshot> {
	return {
		noun: 'service',
		nameOf: ({ service }) => service,
		keyOf: queryKey,
		normalise: normaliseQuery,
		watch: (query, observer) => backend.watch(query, observer),
		isSame: isSameList,
		makeSnapshot: (query, instances, { revision, source, ageMs }) =>
			Object.freeze({ ...query, revision, instances, source, ageMs }),
		describe: (query) => query,
		published: (snapshot, before = [], after) => ({ type: 'published', snapshot, diff: diffInstances(before, after) }),
	};
}

/** A service being watched, as status tells it. */
export function serviceWatchStatus(query: ServiceQuery, status: EntryStatus<Instances>): WatchStatus {
	const { value: instances = [], state, revision, readers, ageMs, error } = status;
	const healthyInstances = instances.filter(isServing).length;
	return { ...query, state, revision, instances: instances.length, healthyInstances, readers, ageMs, error };
}
