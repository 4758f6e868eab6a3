import { SpockError } from '../errors/spock-error.ts';
import type { ServiceQuery } from './query.ts';

/** Whether an instance may be sent work. `warning` still may; `critical` and `maintenance` may not. */
export type InstanceStatus = 'passing' | 'warning' | 'critical' | 'maintenance';

/** One running copy of a service. */
export interface ServiceInstance {
	/** Unique within the service: for Consul, node name + "/" + service id. */
	readonly instance: string;
	/** An IP address or a DNS name. */
	readonly host: string;
	readonly port: number;
	/** Relative share of the work, at least 0. 1 if the registry has none. */
	readonly weight: number;
	readonly status: InstanceStatus;
	readonly tags: readonly string[];
	readonly meta: Readonly<Record<string, string>>;
	/** The failure zone the instance runs in, or null. */
	readonly zone: string | null;
	readonly datacenter: string | null;
}

/**
 * Where a snapshot's truth comes from. `live`: verified by the backend within its watch interval. `last-known-good`: the
 * backend (or, on a client, the sidecar) is unreachable. `static`: a list that no registry verifies.
 */
export type SnapshotSource = 'live' | 'last-known-good' | 'static';

/** Members of every snapshot: of a service's instances, or of keys. */
export interface SnapshotState {
	/** Grows by one with every change that the publishing process publishes. */
	readonly revision: number;
	readonly source: SnapshotSource;
	/** How long ago the content was last verified, in milliseconds; 0 while `source` is `live` or `static`. */
	readonly ageMs: number;
	/**
	 * When the registry last confirmed the content, in milliseconds since 1970, as far as the publisher knew when it published: a live
	 * snapshot is verified again and again without being published again. 0 if unknown.
	 */
	readonly verifiedAt: number;
	/**
	 * Of a last known snapshot: when it was last live, in milliseconds since 1970 by the publisher's clock. A reader counts what it has
	 * waited since `ageMs` was counted. Absent for `live` and `static`, and from older sidecars.
	 */
	readonly liveAt?: number;
	/** Present, and true, while the registry reports that everything is gone and that is not believed yet. */
	readonly held?: true;
	/**
	 * Present, and true, in a snapshot that everything has gone from, if its publisher has held that back for its time, or knows why nothing
	 * is left: a sidecar that receives it need not hold it back again.
	 */
	readonly emptied?: true;
	/** Present, and true, while a newer snapshot does not fit into a frame of this client: the content is that of an older one. */
	readonly oversize?: true;
}

/**
 * All instances of a service at one moment, healthy or not, sorted by instance. The members of the query are present if the
 * query had them: they distinguish the subscriptions of one service.
 */
export interface ServiceSnapshot extends ServiceQuery, SnapshotState {
	readonly instances: readonly ServiceInstance[];
	/** Present, and true, while so few instances are healthy that all of them are served. */
	readonly panic?: true;
}

/** What a client that knows `deltas` is pushed in place of a snapshot that it can make of an earlier one. */
export interface SnapshotDelta extends Omit<ServiceSnapshot, 'instances'> {
	/** The revision of the snapshot that it builds on: the one that this connection has sent last for the query. */
	readonly base: number;
	/** Instances that are not in the base, or not the same there, whole; sorted by instance. */
	readonly changed: readonly ServiceInstance[];
	/** Names of instances that only the base has. */
	readonly gone: readonly string[];
}

/** Some of the instances of a snapshot, for a client that knows `parts`. */
export interface SnapshotPart {
	/** Which list of instances: an integer that no other one has. */
	readonly of: number;
	/** From 0. */
	readonly index: number;
	readonly instances: readonly ServiceInstance[];
}

/** Some of the services of an answer to listServices, for a client that knows `lists`. */
export interface ServiceListPart extends Omit<SnapshotPart, 'instances'> {
	readonly services: readonly ServiceListEntry[];
}

/** What comes behind the parts of a snapshot: all of it but its instances. */
export interface SnapshotInParts extends Omit<ServiceSnapshot, 'instances'> {
	readonly parts: { readonly of: number; readonly count: number };
}

/** One instance to send work to: the answer to getService. */
export interface ServiceAddress {
	readonly host: string;
	readonly port: number;
	readonly instance: string;
	/** Present, and true, only when the answer is not live. */
	readonly stale?: true;
	/** Age of a stale answer in milliseconds. */
	readonly ageMs?: number;
	/** When the registry last confirmed a stale answer, in milliseconds since 1970. */
	readonly verifiedAt?: number;
}

/** A service's name and the tags that any of its instances carries. */
export interface ServiceListEntry {
	readonly name: string;
	readonly tags: readonly string[];
}

/** The answer to listServices. */
export interface ServiceList {
	readonly services: readonly ServiceListEntry[];
	readonly source: SnapshotSource;
	/** How old it is, in milliseconds: a live list is reused for up to a second in each sidecar that it passes. */
	readonly ageMs: number;
	/** When the registry was asked for the list, or when its server was last in contact with the leader before that, in milliseconds since 1970; 0 if unknown. */
	readonly verifiedAt: number;
}

/** True for an instance that may be sent work. */
export function isServing({ status }: Pick<ServiceInstance, 'status'>): boolean {
	return status === 'passing' || status === 'warning';
}

/** True for a snapshot whose backend, or sidecar, is unreachable: its age grows. */
export function isStale({ source }: Pick<ServiceSnapshot, 'source'>): boolean {
	return source === 'last-known-good';
}

/** How much the clocks of two machines may differ. */
const CLOCK_SKEW_MS = 1000;

/**
 * How long ago the registry confirmed a snapshot, in milliseconds, as far as its reader can know: for a live one since it was
 * published, although it may have been verified since. Infinity if unknown, or if the wall clock was set back.
 */
export function knownAgeMs(
	{ ageMs, verifiedAt }: Pick<ServiceSnapshot, 'ageMs' | 'verifiedAt'>,
	wallNowMs: number,
): number {
	const elapsedMs = wallNowMs - verifiedAt;
	return verifiedAt === 0 || elapsedMs < -CLOCK_SKEW_MS ? Number.POSITIVE_INFINITY : Math.max(ageMs, elapsedMs);
}

/** UNAVAILABLE, because the known answer is older than the caller accepts; `details` has `ageMs` and `maxAgeMs`. */
export function tooOldError(
	noun: 'service' | 'key',
	name: string,
	ageMs: number,
	maxAgeMs: number,
	cause?: unknown,
): SpockError {
	const known = Number.isFinite(ageMs) ? Math.round(ageMs) : null;
	const age = known === null ? 'of unknown age' : `${known} ms old`;
	const message = `the snapshot of ${JSON.stringify(name)} is ${age}; the caller accepts at most ${maxAgeMs} ms`;
	return new SpockError('UNAVAILABLE', message, { details: { [noun]: name, ageMs: known, maxAgeMs }, cause });
}
