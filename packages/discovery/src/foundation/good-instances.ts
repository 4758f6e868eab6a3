import { type RefusedInstance, type ServiceInstance, SpockError } from '@spock/protocol';
import { isObject } from '@spock/protocol/internal';

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

/** An observer for a backend of anybody's: what it is told of instances is whole, and what is no list is a failure. */
export function whileGood(backend: string, observer: BackendObserver): BackendObserver {
	return {
		answered: (answer, meta) => {
			if (Array.isArray(answer)) observer.answered(goodInstances(answer), meta);
			else
				observer.failed(new SpockError('UNAVAILABLE', `the answer of the backend ${backend} is no list of instances`));
		},
		failed: (error) => observer.failed(error),
		endIfUnread: () => observer.endIfUnread?.() ?? false,
	};
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
