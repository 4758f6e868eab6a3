import {
	type InstanceStatus,
	isAskedFor,
	type RefusedInstance,
	type ServiceInstance,
	type ServiceQuery,
	SpockError,
} from '@spock/protocol';
import { isHost, isInteger, isObject, scopeOf } from '@spock/protocol/internal';

import type { BackendObserver } from './backend.ts';
import { isLookedThrough, NONE_REFUSED, REFUSED_MAX, type Refused, rememberRefused } from './instance-notes.ts';
import { sortInstances } from './snapshot-diff.ts';

const STATUSES: ReadonlySet<unknown> = new Set<InstanceStatus>(['passing', 'warning', 'critical', 'maintenance']);
/** Longest value that an error shows. */
const SHOWN_LENGTH_MAX = 64;
/** Longest name of a bad instance that is remembered. */
const NAME_LENGTH_MAX = 256;

/**
 * The good instances of an answer, in their order, frozen: one bad entry must not remove a service. The very same list if all are
 * good. Each list is checked once.
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

/** What is wrong with an instance, as a sentence without its subject and full stop; undefined for a good one. */
function instanceFault(value: unknown): string | undefined {
	if (!isObject(value)) return `is ${show(value)}, which is not an object`;
	const { instance, host, port, weight, status, tags, meta, zone, datacenter } = value;
	if (typeof instance !== 'string') return `has the name ${show(instance)}, which is not a string`;
	if (!isHost(host)) return `has the host ${show(host)}, which is neither an IP address nor a name`;
	// A registry takes an instance without one, such as a worker that only reports its health: nothing can be sent to it.
	if (port === 0) return 'has no port';
	if (!isInteger(port, 1, 65_535)) return `has the port ${show(port)}, which is not from 1 to 65535`;
	if (!Number.isFinite(weight) || (weight as number) < 0) return `has the weight ${show(weight)}, which is not from 0`;
	if (!STATUSES.has(status)) return `has the unknown status ${show(status)}`;
	if (!isStrings(tags)) return `has the tags ${show(tags)}, which are not a list of strings`;
	if (!isTexts(meta)) return `has the metadata ${show(meta)}, whose values are not all strings`;
	if (!isTextOrNull(zone)) return `has the zone ${show(zone)}, which is not a string`;
	if (!isTextOrNull(datacenter)) return `has the datacenter ${show(datacenter)}, which is not a string`;
	return undefined;
}

/** True for a list of strings. */
export function isStrings(value: unknown): value is string[] {
	return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isTexts(value: unknown): value is Record<string, string> {
	return isObject(value) && Object.values(value).every((item) => typeof item === 'string');
}

function isTextOrNull(value: unknown): value is string | null {
	return value === null || typeof value === 'string';
}

function show(value: unknown): string {
	let text: string | undefined;
	try {
		text = JSON.stringify(value);
	} catch {
		// A third party's backend may return what has no JSON: a bigint, a cycle.
	}
	text ??= typeof value;
	return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text;
}
