import type { ConnectionOptions } from '@nats-io/transport-node';
import { durationMsOption, integerOption, stringOption } from '@spock/protocol/internal';

export const DEFAULT_PREFIX = 'spock';
export const DEFAULT_MAX_AGE_MS: number = 7 * 24 * 60 * 60 * 1000;
/** The server's own. What was sent and not acknowledged is sent again within this time, and recognised. */
export const DEFAULT_DEDUPE_MS = 120_000;
export const DEFAULT_TIMEOUT_MS = 5000;
export const DEFAULT_LEASE_MS = 10_000;

/** How to say who one is. What else concerns the connection is the store's matter. */
export type NatsCredentials = Pick<ConnectionOptions, 'authenticator' | 'pass' | 'tls' | 'token' | 'user'>;

export interface JetStreamOptions {
	/**
	 * The servers now, as `host:port`; asked for at each connect. An empty list: there is none at the moment. Who learns of a change in between
	 * tells it by `serversChanged`.
	 */
	readonly servers: () => Promise<readonly string[]>;
	/**
	 * Names the log that feeds the store, among all that feed the same streams: 1 to 64 of `A-Z a-z 0-9 _ -`. Another log must have another
	 * name, also one that begins anew in an emptied directory: its positions mean other events.
	 */
	readonly owner: string;
	/** Begins the names of streams and subjects at the server: 1 to 32 of `A-Z a-z 0-9 _ -`. Default `spock`. */
	readonly prefix?: string;
	/** Of streams that the store creates, 1 to 5. Default 1. */
	readonly replicas?: number;
	/** How long streams that it creates keep their events. Default seven days. */
	readonly maxAgeMs?: number;
	/** Most bytes of a stream that it creates; a full stream takes nothing, and loses nothing. Default: as many as the server has. */
	readonly maxBytes?: number;
	/** How long streams recognise an event that comes again, at least. Default 120000, well above the time of a reconnect. */
	readonly dedupeMs?: number;
	/** How long the server may take to answer, or to acknowledge anything at all. Default 5000, from 100. */
	readonly timeoutMs?: number;
	/** How long a reader of a group may give no sign of life until another one takes its place. Default 10000, from 300. */
	readonly leaseMs?: number;
	/** Or what gives them, which is asked at each connect: they may be exchanged. */
	readonly credentials?: NatsCredentials | (() => Promise<NatsCredentials>);
}

export interface JetStreamSettings extends Required<Omit<JetStreamOptions, 'credentials'>> {
	readonly credentials: () => Promise<NatsCredentials>;
}

/** With the defaults. Throws a TypeError or RangeError that names the option. */
export function resolveJetStream(options: JetStreamOptions): JetStreamSettings {
	const { prefix = DEFAULT_PREFIX, replicas = 1, maxAgeMs = DEFAULT_MAX_AGE_MS, maxBytes = -1 } = options;
	const { dedupeMs = DEFAULT_DEDUPE_MS, timeoutMs = DEFAULT_TIMEOUT_MS, leaseMs = DEFAULT_LEASE_MS } = options;
	const { credentials = {} } = options;
	return Object.freeze({
		servers: options.servers,
		owner: tokenOption('owner', options.owner, 64),
		prefix: tokenOption('prefix', prefix, 32),
		replicas: integerOption('replicas', replicas, 1, 5),
		maxAgeMs: durationMsOption('maxAgeMs', maxAgeMs, dedupeMs),
		maxBytes: maxBytes === -1 ? -1 : integerOption('maxBytes', maxBytes, 1, Number.MAX_SAFE_INTEGER),
		dedupeMs: durationMsOption('dedupeMs', dedupeMs, 1000),
		timeoutMs: durationMsOption('timeoutMs', timeoutMs, 100),
		leaseMs: durationMsOption('leaseMs', leaseMs, 300),
		credentials: typeof credentials === 'function' ? credentials : async () => credentials,
	});
}

/** One token of a subject, and a part of a stream's name. */
function tokenOption(name: string, value: string, lengthMax: number): string {
	const text = stringOption(name, value);
	if (/^[A-Za-z0-9_-]+$/.test(text) && text.length <= lengthMax) return text;
	throw new RangeError(`${name} must be 1 to ${lengthMax} of A-Z a-z 0-9 _ -, not "${text}"`);
}
