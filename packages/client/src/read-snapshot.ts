import {
	type InstanceStatus,
	type ServiceAddress,
	type ServiceInstance,
	type ServiceList,
	type ServiceSnapshot,
	type SnapshotSource,
	SpockError,
} from '@spock/protocol';
import { isInteger, isObject, stringOrNull } from '@spock/protocol/internal';

// What comes over the wire is another process's word: it is checked once, here, and frozen. Members this version does
// not know are left out, and those that may be missing get the protocol's defaults.

type Members = Readonly<Record<string, unknown>>;

const STATUSES: ReadonlySet<unknown> = new Set<InstanceStatus>(['passing', 'warning', 'critical', 'maintenance']);

/** A snapshot from the data of a reply or a push; frozen. Throws PROTOCOL, whose `details.path` names the member. */
export function readSnapshot(data: unknown): ServiceSnapshot {
	const members = expectObject(data, '');
	const { service, tags, datacenter, meta, peer, revision, instances, source, ageMs } = members;
	const { verifiedAt, held, panic, oversize } = members;
	if (typeof service !== 'string') throw wrong('service', 'a string');
	if (!Number.isFinite(revision)) throw wrong('revision', 'a number');
	return Object.freeze({
		service,
		...(isStrings(tags) && tags.length > 0 && { tags: Object.freeze(tags) }),
		...(typeof datacenter === 'string' && { datacenter }),
		...(isObject(meta) && { meta: readMeta(meta) }),
		...(typeof peer === 'string' && { peer }),
		revision: revision as number,
		instances: Object.freeze(expectArray(instances, 'instances').map(readInstance)),
		source: readSource(source),
		ageMs: readMs(ageMs),
		verifiedAt: readMs(verifiedAt),
		...(held === true && { held }),
		...(panic === true && { panic }),
		...(oversize === true && { oversize }),
	} satisfies ServiceSnapshot);
}

/** An address from the data of a reply to getService; frozen. Throws PROTOCOL, whose `details.path` names the member. */
export function readAddress(data: unknown): ServiceAddress {
	const members = expectObject(data, '');
	const place = readPlace(members, '');
	const { stale, ageMs, verifiedAt } = members;
	return Object.freeze(
		stale === true ? { ...place, stale, ageMs: readMs(ageMs), verifiedAt: readMs(verifiedAt) } : place,
	);
}

/** The answer to listServices; frozen. Throws PROTOCOL, whose `details.path` names the member. */
export function readList(data: unknown): ServiceList {
	const { services, source, ageMs, verifiedAt } = expectObject(data, '');
	const entries = expectArray(services, 'services').map((entry, index) => {
		if (!isObject(entry) || typeof entry['name'] !== 'string')
			throw wrong(`services[${index}]`, 'an object with a name');
		const { name, tags } = entry as { name: string; tags?: unknown };
		return Object.freeze({ name, tags: readTags(tags) });
	});
	return Object.freeze({
		services: Object.freeze(entries),
		source: readSource(source),
		ageMs: readMs(ageMs),
		verifiedAt: readMs(verifiedAt),
	});
}

/** Where an instance is and what it is called; `prefix` stands before the names of the members in an error. */
function readPlace(
	{ host, port, instance }: Members,
	prefix: string,
): Pick<ServiceInstance, 'host' | 'port' | 'instance'> {
	if (typeof host !== 'string' || host === '') throw wrong(`${prefix}host`, 'a string that is not empty');
	if (!isInteger(port, 0, 65_535)) throw wrong(`${prefix}port`, 'a port');
	// A baseline sidecar may tell no more than host and port.
	return { host, port, instance: stringOrNull(instance) ?? `${host}:${port}` };
}

function readTags(tags: unknown): readonly string[] {
	return isStrings(tags) ? Object.freeze(tags) : NO_TAGS;
}

export function readSource(source: unknown): SnapshotSource {
	return source === 'last-known-good' || source === 'static' ? source : 'live';
}

export function readMs(value: unknown): number {
	return isFrom0(value) ? value : 0;
}

/** JSON has numbers that JavaScript takes for Infinity: nobody can share work out by them, or add them to a time. */
function isFrom0(value: unknown): value is number {
	return Number.isFinite(value) && (value as number) >= 0;
}

function readMeta(meta: unknown): Readonly<Record<string, string>> {
	return isObject(meta) && isStrings(Object.values(meta)) ? Object.freeze(meta as Record<string, string>) : NO_META;
}

function readInstance(data: unknown, index: number): ServiceInstance {
	const path = `instances[${index}]`;
	const members = expectObject(data, path);
	const { weight, status, tags, meta, zone, datacenter } = members;
	// A status of a newer sidecar gets no work: that is the mistake which harms nobody.
	const known = status === undefined ? 'passing' : STATUSES.has(status) ? (status as InstanceStatus) : 'critical';
	return Object.freeze({
		...readPlace(members, `${path}.`),
		weight: isFrom0(weight) ? weight : 1,
		status: known,
		tags: readTags(tags),
		meta: readMeta(meta),
		zone: stringOrNull(zone),
		datacenter: stringOrNull(datacenter),
	});
}

const NO_TAGS: readonly string[] = Object.freeze([]);
const NO_META: Readonly<Record<string, string>> = Object.freeze({});

export function expectObject(value: unknown, path: string): Members {
	if (!isObject(value)) throw wrong(path, 'an object');
	return value;
}

export function expectArray(value: unknown, path: string): unknown[] {
	if (!Array.isArray(value)) throw wrong(path, 'an array');
	return value;
}

function isStrings(value: unknown): value is string[] {
	return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

export function wrong(path: string, expected: string): SpockError {
	const member = path === '' ? 'data' : path;
	return new SpockError('PROTOCOL', `the sidecar sent ${member} that is not ${expected}`, { details: { path } });
}
