import {
	type InstanceStatus,
	type ServiceAddress,
	type ServiceInstance,
	type ServiceList,
	type ServiceSnapshot,
	type SnapshotSource,
	SpockError,
} from '@spock/protocol';

// What comes over the wire is another process's word: it is checked once, here, and frozen. Members this version does
// not know are left out, and those that may be missing get the protocol's defaults.

type Members = Readonly<Record<string, unknown>>;

const STATUSES: ReadonlySet<unknown> = new Set<InstanceStatus>(['passing', 'warning', 'critical', 'maintenance']);

/** A snapshot from the data of a reply or a push; frozen. Throws PROTOCOL, whose `details.path` names the member. */
export function readSnapshot(data: unknown): ServiceSnapshot {
	if (!isObject(data)) throw wrong('', 'an object');
	const { service, tags, datacenter, revision, instances, source, ageMs } = data;
	if (typeof service !== 'string') throw wrong('service', 'a string');
	if (typeof revision !== 'number' || !Number.isFinite(revision)) throw wrong('revision', 'a number');
	if (!Array.isArray(instances)) throw wrong('instances', 'an array');
	return Object.freeze({
		service,
		...(isStrings(tags) && tags.length > 0 ? { tags: Object.freeze(tags) } : {}),
		...(typeof datacenter === 'string' ? { datacenter } : {}),
		revision,
		instances: Object.freeze(instances.map(readInstance)),
		source: readSource(source),
		ageMs: readAgeMs(ageMs),
	} satisfies ServiceSnapshot);
}

/** An address from the data of a reply to getService; frozen. Throws PROTOCOL, whose `details.path` names the member. */
export function readAddress(data: unknown): ServiceAddress {
	if (!isObject(data)) throw wrong('', 'an object');
	const { host, port, instance, stale, ageMs } = data;
	if (typeof host !== 'string' || host === '') throw wrong('host', 'a string that is not empty');
	if (!isPort(port)) throw wrong('port', 'a port');
	return Object.freeze({
		host,
		port,
		// A baseline sidecar may tell no more than host and port.
		instance: typeof instance === 'string' ? instance : `${host}:${port}`,
		...(stale === true ? { stale, ageMs: readAgeMs(ageMs) } : {}),
	});
}

/** The answer to listServices; frozen. Throws PROTOCOL, whose `details.path` names the member. */
export function readList(data: unknown): ServiceList {
	if (!isObject(data)) throw wrong('', 'an object');
	const { services, source, ageMs } = data;
	if (!Array.isArray(services)) throw wrong('services', 'an array');
	const entries = services.map((entry: unknown, index) => {
		if (!isObject(entry) || typeof entry['name'] !== 'string')
			throw wrong(`services[${index}]`, 'an object with a name');
		const { name, tags } = entry as { name: string; tags?: unknown };
		return Object.freeze({ name, tags: isStrings(tags) ? Object.freeze(tags) : NO_TAGS });
	});
	return Object.freeze({ services: Object.freeze(entries), source: readSource(source), ageMs: readAgeMs(ageMs) });
}

function readSource(source: unknown): SnapshotSource {
	return source === 'last-known-good' || source === 'static' ? source : 'live';
}

function readAgeMs(ageMs: unknown): number {
	return typeof ageMs === 'number' && ageMs >= 0 ? ageMs : 0;
}

function readInstance(data: unknown, index: number): ServiceInstance {
	const path = `instances[${index}]`;
	if (!isObject(data)) throw wrong(path, 'an object');
	const { instance, host, port, weight, status, tags, meta, zone, datacenter } = data;
	if (typeof host !== 'string' || host === '') throw wrong(`${path}.host`, 'a string that is not empty');
	if (!isPort(port)) throw wrong(`${path}.port`, 'a port');
	// A status of a newer sidecar gets no work: that is the mistake which harms nobody.
	const known = status === undefined ? 'passing' : STATUSES.has(status) ? (status as InstanceStatus) : 'critical';
	return Object.freeze({
		instance: typeof instance === 'string' ? instance : `${host}:${port}`,
		host,
		port,
		weight: typeof weight === 'number' && weight >= 0 ? weight : 1,
		status: known,
		tags: isStrings(tags) ? Object.freeze(tags) : NO_TAGS,
		meta: isObject(meta) ? Object.freeze(meta as Record<string, string>) : NO_META,
		zone: typeof zone === 'string' ? zone : null,
		datacenter: typeof datacenter === 'string' ? datacenter : null,
	});
}

const NO_TAGS: readonly string[] = Object.freeze([]);
const NO_META: Readonly<Record<string, string>> = Object.freeze({});

function isObject(value: unknown): value is Members {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isStrings(value: unknown): value is string[] {
	return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isPort(value: unknown): value is number {
	return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 65_535;
}

function wrong(path: string, expected: string): SpockError {
	const member = path === '' ? 'data' : path;
	return new SpockError('PROTOCOL', `the sidecar sent ${member} that is not ${expected}`, { details: { path } });
}
