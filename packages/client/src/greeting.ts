import { type HelloData, PROTOCOL_VERSIONS, SpockError } from '@spock/protocol';

import { CLIENT_VERSION } from './version.ts';

/** What the answer to hello said of the other side. */
export interface Greeting {
	/** True for a sidecar that knows requests and replies only. */
	readonly baseline: boolean;
	/** Name and version, or null for a baseline sidecar. */
	readonly sidecar: string | null;
	/** Differs for every process, or null for a baseline sidecar: revisions compare only within one instance. */
	readonly instance: string | null;
	/** True if snapshots are pushed. */
	readonly pushes: boolean;
	readonly frameBytesMax: number | undefined;
	readonly inFlightMax: number | undefined;
}

const BASELINE: Greeting = Object.freeze({
	baseline: true,
	sidecar: null,
	instance: null,
	pushes: false,
	frameBytesMax: undefined,
	inFlightMax: undefined,
});

/** What this client says first. */
export function helloData(pid: number): HelloData {
	return { versions: PROTOCOL_VERSIONS, client: CLIENT_VERSION, pid, features: ['push', 'goaway'] };
}

/**
 * Reads the data of the answer to hello. What has no version is from a baseline sidecar, which answers what it does not
 * know with `null`. Throws PROTOCOL for a version that this client does not speak.
 */
export function readGreeting(data: unknown): Greeting {
	if (!isObject(data) || data['version'] === undefined) return BASELINE;
	const { version, sidecar, instance, features, limits } = data;
	if (!PROTOCOL_VERSIONS.includes(version as number)) throw unsupported([version]);
	const told = isObject(limits) ? limits : {};
	return Object.freeze({
		baseline: false,
		sidecar: typeof sidecar === 'string' ? sidecar : null,
		instance: typeof instance === 'string' ? instance : null,
		pushes: Array.isArray(features) && features.includes('push'),
		frameBytesMax: positiveInteger(told['frameBytesMax']),
		inFlightMax: positiveInteger(told['inFlightMax']),
	});
}

/**
 * Reads a failure of hello: a sidecar that does not know the function is a baseline one. Throws PROTOCOL when the two
 * have no version in common, and the failure itself when it says nothing about that (OVERLOADED, say).
 */
export function readGreetingFailure(error: SpockError): Greeting {
	if (error.code === 'UNKNOWN_FUNC' || error.code === 'BAD_REQUEST') return BASELINE;
	if (error.code === 'UNSUPPORTED_VERSION') throw unsupported(error.details['versions'], error);
	throw error;
}

function unsupported(versions: unknown, cause?: SpockError): SpockError {
	const theirs = Array.isArray(versions) ? versions.map(String).join(', ') : 'another one';
	const message = `no protocol version in common: this client speaks ${PROTOCOL_VERSIONS.join(', ')}, the sidecar ${theirs}`;
	return new SpockError('PROTOCOL', message, {
		details: { client: PROTOCOL_VERSIONS, sidecar: versions ?? null },
		cause,
	});
}

function positiveInteger(value: unknown): number | undefined {
	return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}
