import {
	type InstanceStatus,
	type KeyEntry,
	type KeyQuery,
	type KeySnapshot,
	makeKeySnapshot,
	type ServiceAddress,
	type ServiceInstance,
	type ServiceList,
	type ServiceListEntry,
	type ServiceQuery,
	type ServiceSnapshot,
	type SnapshotSource,
	type SnapshotState,
	SpockError,
} from '@spock/protocol';
import { isHost, isInteger, isObject, readQuery, stringOrNull } from '@spock/protocol/internal';

// Data from the wire is untrusted: it is validated once, here, and frozen. Unknown members are left out, and missing optional members
// get the protocol's defaults.

type Members = Readonly<Record<string, unknown>>;

const STATUSES: ReadonlySet<unknown> = new Set<InstanceStatus>(['passing', 'warning', 'critical', 'maintenance']);

/** Called with the error of an entry that is left out because others are good. */
export type LeftOut = (why: string) => void;

/**
 * A snapshot from the data of a reply or a push, without instances that are bad; frozen. Throws PROTOCOL, whose `details.path`
 * names the member.
 */
export function readSnapshot(data: unknown, leftOut: LeftOut = ignore): ServiceSnapshot {
	const members = expectObject(data, '');
	return snapshotFrom(members, () => {
		const entries = expectArray(members['instances'], 'instances');
		const good = readGood(entries, readInstance, leftOut);
		if (good.length < entries.length) badNames.set(good, namesOfBad(entries, good));
		return good;
	});
}

/**
 * The snapshot in the data of a push that builds on this one; `undefined` if it is not newer. An instance that has not changed is the
 * same object. Throws PROTOCOL as `readSnapshot` does, and where it builds on another one.
 */
export function readDelta(data: unknown, base: ServiceSnapshot, leftOut: LeftOut = ignore): ServiceSnapshot {
	const members = expectObject(data, '');
	if (members['base'] !== base.revision) throw wrong('base', `revision ${base.revision}, which this client has`);
	return snapshotFrom(members, () => {
		const changed = expectArray(members['changed'], 'changed');
		const gone = expectArray(members['gone'], 'gone');
		if (changed.length + gone.length === 0) return base.instances;
		const bad = new Set(badNames.get(base.instances));
		const replaced = new Set<unknown>(gone);
		for (const entry of changed) replaced.add(nameIn(entry));
		for (const name of replaced) bad.delete(name);
		const rest = base.instances.filter(({ instance }) => !replaced.has(instance));
		// What is bad among others that are good is left out, whether those others have changed or not.
		const read = readGood(changed, readInstance, leftOut, rest.length > 0);
		if (read.length < changed.length) for (const name of namesOfBad(changed, read)) bad.add(name);
		const instances = merge(rest, read);
		if (bad.size > 0 && instances.length === 0) throw wrong('changed', 'at least one instance that can be read');
		if (bad.size > 0) badNames.set(instances, bad);
		return instances;
	});
}

/** Names of the instances that were left out of a list: a delta may be about them. Most lists have none. */
const badNames = new WeakMap<readonly ServiceInstance[], ReadonlySet<unknown>>();

function namesOfBad(entries: readonly unknown[], good: readonly ServiceInstance[]): Set<unknown> {
	const names = new Set(entries.map(nameIn));
	for (const { instance } of good) names.delete(instance);
	return names;
}

function nameIn(entry: unknown): unknown {
	return isObject(entry) ? entry['instance'] : undefined;
}

/** Both sorted by instance, as sidecars send them. */
function merge(left: readonly ServiceInstance[], right: readonly ServiceInstance[]): readonly ServiceInstance[] {
	const merged: ServiceInstance[] = [];
	let at = 0;
	for (const one of right) {
		for (let next = left[at]; next !== undefined && next.instance < one.instance; next = left[++at]) merged.push(next);
		merged.push(one);
	}
	return Object.freeze(merged.concat(left.slice(at)));
}

function snapshotFrom(members: Members, readInstances: () => readonly ServiceInstance[]): ServiceSnapshot {
	const { service, revision, source, ageMs, verifiedAt, liveAt, held, emptied, panic, oversize } = members;
	if (typeof service !== 'string') throw wrong('service', 'a string');
	if (!Number.isFinite(revision)) throw wrong('revision', 'a number');
	const scope: Omit<ServiceQuery, 'service'> = readQuery(service, members);
	// Not with the spread first: each member that follows would change the shape of the object, and be slow.
	return Object.freeze({
		service,
		revision: revision as number,
		instances: readInstances(),
		...scope,
		source: readSource(source),
		ageMs: readMs(ageMs),
		verifiedAt: readMs(verifiedAt),
		...(isFrom0(liveAt) && { liveAt }),
		...(held === true && { held }),
		...(emptied === true && { emptied }),
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

/** The answer to listServices, without entries that are bad; frozen. Throws PROTOCOL, whose `details.path` names the member. */
export function readList(data: unknown, leftOut: LeftOut = ignore): ServiceList {
	const { services, source, ageMs, verifiedAt } = expectObject(data, '');
	const entries = readGood(expectArray(services, 'services'), readListEntry, leftOut);
	return Object.freeze({
		services: entries,
		source: readSource(source),
		ageMs: readMs(ageMs),
		verifiedAt: readMs(verifiedAt),
	});
}

/** Reads each entry, leaving out those for which `read` throws. Throws if that is every entry, and there are no good others. */
function readGood<T>(
	entries: readonly unknown[],
	read: (entry: unknown, index: number) => T,
	leftOut: LeftOut,
	hasOthers = false,
): readonly T[] {
	const good: T[] = [];
	const faults: SpockError[] = [];
	for (const [index, entry] of entries.entries()) {
		try {
			good.push(read(entry, index));
		} catch (error) {
			faults.push(SpockError.from(error));
		}
	}
	const [first] = faults;
	if (first !== undefined && good.length === 0 && !hasOthers) throw first;
	for (const { message } of faults) leftOut(message);
	return Object.freeze(good);
}

function readListEntry(entry: unknown, index: number): ServiceListEntry {
	if (!isObject(entry) || typeof entry['name'] !== 'string') throw wrong(`services[${index}]`, 'an object with a name');
	const { name, tags } = entry as { name: string; tags?: unknown };
	return Object.freeze({ name, tags: readTags(tags) });
}

/** Host, port and name of an instance; `prefix` precedes the names of the members in an error. */
function readPlace(
	{ host, port, instance }: Members,
	prefix: string,
): Pick<ServiceInstance, 'host' | 'port' | 'instance'> {
	if (!isHost(host)) throw wrong(`${prefix}host`, 'an IP address or a name');
	if (!isInteger(port, 0, 65_535)) throw wrong(`${prefix}port`, 'a port');
	// A baseline sidecar may send only host and port.
	return { host, port, instance: stringOrNull(instance) ?? `${host}:${port}` };
}

function readTags(tags: unknown): readonly string[] {
	return isStrings(tags) ? Object.freeze(tags) : NO_TAGS;
}

function readSource(source: unknown): SnapshotSource {
	return source === 'last-known-good' || source === 'static' ? source : 'live';
}

function readMs(value: unknown): number {
	return isFrom0(value) ? Math.round(value) : 0;
}

/** JSON may contain numbers that parse as Infinity, which cannot serve as a weight or a time. */
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
	// An instance with an unknown status gets no work, which is the harmless mistake.
	const known = status === undefined ? 'passing' : STATUSES.has(status) ? (status as InstanceStatus) : 'critical';
	const { host, port, instance } = readPlace(members, `${path}.`);
	// As in snapshotFrom: with a spread first it takes ten times as long.
	return Object.freeze({
		instance,
		host,
		port,
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

function expectObject(value: unknown, path: string): Members {
	if (!isObject(value)) throw wrong(path, 'an object');
	return value;
}

function expectArray(value: unknown, path: string): unknown[] {
	if (!Array.isArray(value)) throw wrong(path, 'an array');
	return value;
}

function isStrings(value: unknown): value is string[] {
	return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function ignore(): void {
	// Only a caller that passes a function is notified.
}

function wrong(path: string, expected: string): SpockError {
	const member = path === '' ? 'data' : path;
	return new SpockError('PROTOCOL', `the sidecar sent an invalid ${member}: expected ${expected}`, {
		details: { path },
	});
}

/** A snapshot of keys from the data of a reply or a push; frozen. Throws PROTOCOL, whose `details.path` names the member. */
export function readKeySnapshot(data: unknown): KeySnapshot {
	const members = expectObject(data, '');
	const { key, prefix, datacenter, revision, source, ageMs, verifiedAt, liveAt, held, emptied, oversize, value } =
		members;
	if (typeof key !== 'string') throw wrong('key', 'a string');
	if (!Number.isFinite(revision)) throw wrong('revision', 'a number');
	const query: KeyQuery = {
		key,
		...(prefix === true && { prefix }),
		...(typeof datacenter === 'string' && { datacenter }),
	};
	const state: SnapshotState = {
		revision: revision as number,
		source: readSource(source),
		ageMs: readMs(ageMs),
		verifiedAt: readMs(verifiedAt),
		...(isFrom0(liveAt) && { liveAt }),
		...(held === true && { held }),
		...(emptied === true && { emptied }),
		...(oversize === true && { oversize }),
	};
	if (prefix === true) {
		const entries = expectArray(members['entries'], 'entries').map((entry, index) => {
			const path = `entries[${index}]`;
			return readEntry(expectObject(entry, path), `${path}.`);
		});
		return makeKeySnapshot(query, Object.freeze(entries), state);
	}
	return makeKeySnapshot(query, value === null ? [] : [readEntry(members, '')], state);
}

function readEntry({ key, value, encoding }: Readonly<Record<string, unknown>>, path: string): KeyEntry {
	if (typeof key !== 'string') throw wrong(`${path}key`, 'a string');
	if (typeof value !== 'string') throw wrong(`${path}value`, 'a string');
	// A value in an unknown encoding would be mistaken for text.
	if (encoding !== undefined && encoding !== null && encoding !== 'base64') throw wrong(`${path}encoding`, 'base64');
	return Object.freeze({ key, value, ...(encoding === 'base64' && { encoding }) });
}
