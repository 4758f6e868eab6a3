import { isIP } from 'node:net';
import { normaliseQuery, type ServiceAddress, type ServiceQuery, validateQuery } from '@spock/protocol';
import { durationMsOption } from '@spock/protocol/internal';
import type { Diplomat } from '../diplomat.ts';
import type { Lease } from '../lookups/instance-records.ts';
import { type KnownServiceQuery, QUERY_MEMBERS } from '../lookups/lookup-options.ts';
import { serviceError } from './call-errors.ts';

/** How long a new connection waits for an instance by default, in milliseconds. */
export const DEFAULT_LOOKUP_TIMEOUT_MS = 5_000;

/** Which service connections go to: its name, tags and so on, as `diplomat.getService` takes them. */
export interface ConnectionTargetOptions extends ServiceQuery {
	/** Finds the instances. The caller owns it, and ends it after the connections. */
	readonly diplomat: Diplomat;
	/** What a policy of consistent hashing chooses by. Default: none. */
	readonly key?: string;
	/**
	 * With TLS: the server's name, which is what its certificate must be for, and what it is asked for (SNI) unless that is
	 * an address. Default: that of the connection's own TLS options, else the instance's host.
	 */
	readonly servername?: string | ((query: ServiceQuery, address: ServiceAddress) => string);
	/** How long a new connection waits for an instance, in milliseconds. Default 5,000. */
	readonly lookupTimeoutMs?: number;
}

/** The names of these options, for integrations that have others besides. */
export const CONNECTION_TARGET_OPTIONS: readonly string[] = [
	'diplomat',
	...QUERY_MEMBERS,
	'key',
	'servername',
	'lookupTimeoutMs',
];

/** Where new connections go. */
export class ConnectionTarget {
	readonly diplomat: Diplomat;
	readonly query: ServiceQuery;
	readonly #key: string | undefined;
	readonly #servername: ConnectionTargetOptions['servername'];
	readonly #lookupTimeoutMs: number;

	/** Throws a TypeError or RangeError naming the option that is wrong, or BAD_REQUEST for a wrong name or tag. */
	constructor(options: ConnectionTargetOptions) {
		const { diplomat, key, servername, lookupTimeoutMs = DEFAULT_LOOKUP_TIMEOUT_MS } = options;
		this.diplomat = diplomatOption(diplomat);
		this.query = normaliseQuery(validateQuery(options));
		this.#key = key;
		this.#servername = servername;
		this.#lookupTimeoutMs = durationMsOption('lookupTimeoutMs', lookupTimeoutMs);
	}

	/** The instance for a new connection. Rejects as `diplomat.acquire` does, with errors that all name the service. */
	async acquire(signal: AbortSignal, exclude: ReadonlySet<string> | undefined): Promise<Lease> {
		try {
			// Names are checked where they are written, and not here.
			return await this.diplomat.acquire(this.query as KnownServiceQuery, {
				timeoutMs: this.#lookupTimeoutMs,
				signal,
				exclude,
				...(this.#key !== undefined && { key: this.#key }),
			});
		} catch (error) {
			throw serviceError(this.query, error);
		}
	}

	/** What the certificate of an instance must be for; `fallback` is what the connection's own TLS options say. */
	servername(address: ServiceAddress, fallback: string | undefined): string {
		const asked = this.#servername;
		return (typeof asked === 'function' ? asked(this.query, address) : asked) ?? fallback ?? address.host;
	}
}

/** The part of a server's name that may be asked for in TLS: an address may not (RFC 6066, section 3). */
export function sniOf(servername: string): string | undefined {
	return isIP(servername) === 0 ? servername : undefined;
}

/** The option `diplomat` of an integration; throws a TypeError that says what must be given. */
export function diplomatOption(diplomat: unknown): Diplomat {
	if (typeof (diplomat as Diplomat | undefined)?.acquire === 'function') return diplomat as Diplomat;
	const isPromise = typeof (diplomat as PromiseLike<unknown> | undefined)?.then === 'function';
	const got = isPromise ? 'a promise: await it first' : String(diplomat);
	throw new TypeError(`diplomat must be a Diplomat from connect() or createDiplomat(), not ${got}`);
}
