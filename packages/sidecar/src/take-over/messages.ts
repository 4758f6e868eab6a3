import { type KeyQuery, type ServiceQuery, SpockError, validateKeyQuery, validateQuery } from '@spock/protocol';
import { isObject } from '@spock/protocol/internal';

// What two sidecars exchange at the private socket: frames of the public protocol, functions of their own. Unknown
// members of a reply are ignored, so that later versions can add some.

/**
 * The functions, each called once on a connection and in this order. `begin`: a successor is about to take over; nothing
 * changes. `finish`: its socket is at the path now, which the sidecar checks before it leaves.
 */
export const STEPS = ['begin', 'finish'] as const;
export type Step = (typeof STEPS)[number];

/** The reply to `begin`: every query that has an answer. The successor runs them before any client is sent to it. */
export interface KnownQueries {
	readonly services: readonly ServiceQuery[];
	readonly keys: readonly KeyQuery[];
}

/** Most bytes of queries in the reply to `begin`; more are left out. Below the frame limit of the reader, FRAME_BYTES_MAX. */
export const QUERIES_BYTES_MAX = 524_288;

/** The private socket, for its successor, of the sidecar that listens at this path. */
export function privatePathOf(path: string): string {
	return `${path}.take-over`;
}

/** As many of the queries as a reply may hold. */
export function fittingQueries({ services, keys }: KnownQueries): KnownQueries {
	let left = QUERIES_BYTES_MAX;
	const fits = (query: ServiceQuery | KeyQuery): boolean => {
		left -= Buffer.byteLength(JSON.stringify(query)) + 1;
		return left >= 0;
	};
	return { services: services.filter(fits), keys: keys.filter(fits) };
}

/** Reads the reply to `begin`. Throws a SpockError if it is malformed. */
export function readKnownQueries(data: unknown): KnownQueries {
	const { services, keys } = isObject(data) ? data : {};
	if (!Array.isArray(services) || !Array.isArray(keys)) {
		throw new SpockError('PROTOCOL', 'the reply to begin lacks services or keys: stop the sidecar in place first');
	}
	return {
		services: services.map((query) => validateQuery(query)),
		keys: keys.map((query) => validateKeyQuery(query)),
	};
}
