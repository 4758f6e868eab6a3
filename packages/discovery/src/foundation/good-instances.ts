import { isAskedFor, type RefusedInstance, type ServiceInstance, type ServiceQuery, SpockError } from '@spock/protocol';
import { isObject, scopeOf } from '@spock/protocol/internal';

import type { BackendObserver } from './backend.ts';
import { instanceFault } from './instance-fault.ts';
import { isLookedThrough, NONE_REFUSED, REFUSED_MAX, type Refused, rememberRefused } from './refused-instances.ts';
import { sortInstances } from './snapshot-diff.ts';

/** Longest name of a bad instance that is remembered. */
const NAME_LENGTH_MAX = 256;

/**
 * The instances of an answer that are whole, in their order, frozen: one bad entry must not take a service away. The very same list
 * where nothing is wrong with it. A list is looked through once, however many ask.
 */
export function goodInstances(answer: readonly ServiceInstance[]): readonly ServiceInstance[] {
	if (isLookedThrough(answer) && Object.isFrozen(answer)) return answer;
	const { good, bad } = sift(answer);
	const list = bad.count === 0 ? answer : Object.freeze(good);
	rememberRefused(list, bad);
	return list;
}

/** The instances of a list in a file: as {@link goodInstances}, and sorted, each with just the members of an instance. */
export function readInstances(values: readonly unknown[]): readonly ServiceInstance[] {
	const { good, bad } = sift(values);
	const list = sortInstances(good.map(wholeInstance));
	rememberRefused(list, bad);
	return list;
}

/** An observer for any backend: it passes on valid instances only, and an answer that is not a list is a failure. */
export function whileGood(backend: string, observer: BackendObserver): BackendObserver {
	return {
		answered: (answer, meta) => {
			if (Array.isArray(answer)) observer.answered(goodInstances(answer), meta);
			else observer.failed(new SpockError('UNAVAILABLE', `the backend ${backend} must return a list of instances`));
		},
		failed: (error) => observer.failed(error),
		endIfUnread: () => observer.endIfUnread?.() ?? false,
	};
}

/**
 * The instances that a query asks for, among all of its service in a registry that is one list, frozen. Such a list knows of datacenters
 * alone: of any other scope, such as a peer, it has nothing.
 */
export function askedInstances(query: ServiceQuery, all: readonly ServiceInstance[]): readonly ServiceInstance[] {
	const { service: _service, datacenter, ...others } = scopeOf(query);
	if (Object.keys(others).length > 0) return Object.freeze([]);
	const isThere = (one: ServiceInstance): boolean => datacenter === undefined || one.datacenter === datacenter;
	return Object.freeze(all.filter((one) => isThere(one) && isAskedFor(query, one)));
}

function sift(values: readonly unknown[]): { readonly good: ServiceInstance[]; readonly bad: Refused } {
	const good: ServiceInstance[] = [];
	const instances: RefusedInstance[] = [];
	let count = 0;
	for (const value of values) {
		const reason = instanceFault(value);
		if (reason === undefined) good.push(value as ServiceInstance);
		else if (++count <= REFUSED_MAX) instances.push(Object.freeze({ instance: nameOf(value), reason }));
	}
	return { good, bad: count === 0 ? NONE_REFUSED : Object.freeze({ count, instances: Object.freeze(instances) }) };
}

function wholeInstance(one: ServiceInstance): ServiceInstance {
	const { instance, host, port, weight, status, tags, meta, zone, datacenter } = one;
	return Object.freeze({
		instance,
		host,
		port,
		weight,
		status,
		tags: Object.freeze(tags),
		meta: Object.freeze(meta),
		zone,
		datacenter,
	});
}

function nameOf(instance: unknown): string {
	const name = isObject(instance) ? instance['instance'] : undefined;
	return typeof name === 'string' ? name.slice(0, NAME_LENGTH_MAX) : '';
}
