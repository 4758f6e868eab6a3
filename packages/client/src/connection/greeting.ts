import { FRAME_BYTES_MAX, type HelloData, PROTOCOL_VERSIONS, SpockError } from '@spock/protocol';
import { isInteger, isObject, stringOrNull } from '@spock/protocol/internal';

import { CLIENT_VERSION } from '../foundation/version.ts';

/** What the answer to hello says of the sidecar. */
export interface Greeting {
	/** True for a sidecar that knows requests and replies only. */
	readonly baseline: boolean;
	/** Name and version, or null for a baseline sidecar. */
	readonly sidecar: string | null;
	/** Differs for every process, or null for a baseline sidecar: revisions compare only within one instance. */
	readonly instance: string | null;
	/** True if snapshots are pushed. */
	readonly pushes: boolean;
	/** True if it takes events. */
	readonly takesEvents: boolean;
	/** The zone that it runs in, and its clients with it; undefined if it says nothing. */
	readonly zone: string | undefined;
	/** How many clients it had then; undefined if they were few, or it does not say. */
	readonly clients: number | undefined;
	/** Longest frame that it accepts; the protocol's default if it says nothing. */
	readonly frameBytesMax: number;
	/** Most requests at once that it accepts on one connection; Infinity if it says nothing. */
	readonly inFlightMax: number;
	/** What it says of the sidecars that it asks, unread; undefined if it asks none. */
	readonly upstreams: unknown;
}

const BASELINE: Greeting = greetingFrom({}, true);

/** What a client says of itself in hello. */
export type Introduction = Pick<HelloData, 'client' | 'frameBytesMax' | 'heartbeatMs' | 'token' | 'secret' | 'sidecar'>;

/** The data of this client's hello. */
export function helloData(introduction: Introduction): HelloData {
	const { pid } = process;
	const features = ['push', 'goaway', 'window', 'deltas', 'parts', 'lists', 'events'];
	return { versions: PROTOCOL_VERSIONS, library: CLIENT_VERSION, pid, features, ...introduction };
}

/**
 * Reads the data of the answer to hello. What has no version is from a baseline sidecar, which answers what it does not
 * know with `null`. Throws PROTOCOL for a version that this client does not speak.
 */
export function readGreeting(data: unknown): Greeting {
	if (!isObject(data) || data['version'] === undefined) return BASELINE;
	const { version } = data;
	if (!PROTOCOL_VERSIONS.includes(version as number)) throw unsupported([version]);
	return greetingFrom(data, false);
}

/**
 * Reads a failure of hello: a sidecar that does not know the function is a baseline one. Throws PROTOCOL when the two
 * have no version in common, and the failure itself for anything else (OVERLOADED, say, or BAD_REQUEST for a member of this
 * hello: a sidecar that names a member knows the function).
 */
export function readGreetingFailure(error: SpockError): Greeting {
	if (error.code === 'UNKNOWN_FUNC') return BASELINE;
	if (error.code === 'BAD_REQUEST' && error.details['path'] === undefined) return BASELINE;
	if (error.code === 'UNSUPPORTED_VERSION') throw unsupported(error.details['versions'], error);
	throw error;
}

function unsupported(versions: unknown, cause?: SpockError): SpockError {
	const theirs = Array.isArray(versions)
		? versions.map((version) => JSON.stringify(version)).join(', ')
		: 'another one';
	const message = `no protocol version in common: this client speaks ${PROTOCOL_VERSIONS.join(', ')}, the sidecar ${theirs}; upgrade the older one`;
	return new SpockError('PROTOCOL', message, {
		details: { client: PROTOCOL_VERSIONS, sidecar: versions ?? null },
		cause,
	});
}

function greetingFrom(data: Readonly<Record<string, unknown>>, baseline: boolean): Greeting {
	const { sidecar, instance, features, limits, zone, clients, upstreams } = data;
	const { frameBytesMax, inFlightMax } = isObject(limits) ? limits : {};
	const has = (feature: string): boolean => Array.isArray(features) && features.includes(feature);
	return Object.freeze({
		baseline,
		sidecar: stringOrNull(sidecar),
		instance: stringOrNull(instance),
		pushes: has('push'),
		takesEvents: has('events'),
		zone: stringOrNull(zone) || undefined,
		clients: isInteger(clients, 1) ? clients : undefined,
		frameBytesMax: isInteger(frameBytesMax, 1) ? frameBytesMax : FRAME_BYTES_MAX,
		inFlightMax: isInteger(inFlightMax, 1) ? inFlightMax : Number.POSITIVE_INFINITY,
		upstreams,
	});
}
