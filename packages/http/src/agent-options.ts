import type { AgentOptions, IncomingMessage } from 'node:http';
import type { AgentOptions as HttpsAgentOptions } from 'node:https';

import type { Diplomat } from '@spock/client';
import { diplomatOption, type HttpTargetOptions, NameRule } from '@spock/client/integrations';
import { booleanOption, type Clock, durationMsOption, integerOption, systemClock } from '@spock/protocol/internal';

export const DEFAULT_CONNECT_RETRIES_MAX = 2;
export const DEFAULT_CONNECT_TIMEOUT_MS = 5_000;
export const DEFAULT_IDLE_TIMEOUT_MS = 4_000;
/** How long before a server's own time an idle connection is closed, in milliseconds; as in Node. */
const DEFAULT_KEEP_ALIVE_BUFFER_MS = 1000;

/** What both agents let one set besides the options of Node's own. */
export interface DiscoveryOptions extends HttpTargetOptions {
	/** Finds the instances. The caller owns and closes it. */
	readonly diplomat: Diplomat;
	/**
	 * How many more instances are tried when one cannot be connected to. Nothing of the request has been sent then, so this is
	 * safe for every method. Default 2, 0 to 100.
	 */
	readonly connectRetriesMax?: number;
	/** Longest time for a connection, and its TLS handshake, to be made, in milliseconds. Default 5000. */
	readonly connectTimeoutMs?: number;
	/**
	 * How long an idle connection is kept, in milliseconds; less if the server announces it (`Keep-Alive: timeout=5`), with
	 * `agentKeepAliveTimeoutBuffer` to spare. Keep it below what the servers have. Default 4000.
	 */
	readonly idleTimeoutMs?: number;
	/** See `idleTimeoutMs`; milliseconds. An option of Node's agents since Node 22. Default 1000. */
	readonly agentKeepAliveTimeoutBuffer?: number;
	/**
	 * Whether a response counts against its instance, once its head has come. Must not throw. Default: the status is 502, 503
	 * or 504.
	 */
	readonly isFailure?: (response: IncomingMessage) => boolean;
}

/** Options of {@link DiscoveryAgent}: what Node's `http.Agent` takes as well. `keepAlive` is true by default. */
export interface DiscoveryAgentOptions extends DiscoveryOptions, AgentOptions {}

/** Options of {@link DiscoveryHttpsAgent}: what Node's `https.Agent` takes as well. `keepAlive` is true by default. */
export interface DiscoveryHttpsAgentOptions extends DiscoveryOptions, Omit<HttpsAgentOptions, 'servername'> {}

/** The options with their defaults. */
export interface Settings {
	readonly diplomat: Diplomat;
	readonly rule: NameRule;
	readonly keepHost: boolean;
	readonly servername: HttpTargetOptions['servername'];
	readonly connectRetriesMax: number;
	readonly connectTimeoutMs: number;
	readonly idleTimeoutMs: number;
	readonly keepAliveBufferMs: number;
	readonly isFailure: (response: IncomingMessage) => boolean;
	readonly clock: Clock;
	/** The options of Node's agent: whether connections are kept alive, and the time-out of sockets, 0 without one. */
	readonly keepAlive: boolean;
	readonly socketTimeoutMs: number;
}

const EXAMPLE = '{ diplomat }, from connect() or createDiplomat() of @spock/client';
const FAILURE_STATUSES: ReadonlySet<unknown> = new Set([502, 503, 504]);

/** Checks the options, and separates ours from those of Node's agent. Throws an error that names an invalid one. */
export function splitOptions<A extends AgentOptions>(
	options: DiscoveryOptions & A,
): { readonly settings: Settings; readonly agentOptions: AgentOptions } {
	// Which members there are cannot be checked: what is none of ours is for Node's agent, and grows with Node.
	if (typeof options !== 'object' || options === null) throw new TypeError(`options are required: ${EXAMPLE}`);
	const {
		diplomat,
		suffix: _suffix,
		query: _query,
		services: _services,
		keepHost = false,
		servername,
		connectRetriesMax = DEFAULT_CONNECT_RETRIES_MAX,
		connectTimeoutMs = DEFAULT_CONNECT_TIMEOUT_MS,
		idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS,
		isFailure = ({ statusCode }: IncomingMessage): boolean => FAILURE_STATUSES.has(statusCode),
		agentKeepAliveTimeoutBuffer = DEFAULT_KEEP_ALIVE_BUFFER_MS,
		...rest
	} = options;
	const agentOptions = { keepAlive: true, ...rest, agentKeepAliveTimeoutBuffer };
	if (typeof isFailure !== 'function') throw new TypeError('isFailure must be a function');
	if (servername !== undefined && typeof servername !== 'string' && typeof servername !== 'function') {
		throw new TypeError('servername must be a string or a function');
	}
	const settings: Settings = {
		diplomat: diplomatOption(diplomat),
		rule: new NameRule(options),
		keepHost: booleanOption('keepHost', keepHost),
		servername,
		connectRetriesMax: integerOption('connectRetriesMax', connectRetriesMax, 0, 100),
		connectTimeoutMs: durationMsOption('connectTimeoutMs', connectTimeoutMs),
		idleTimeoutMs: durationMsOption('idleTimeoutMs', idleTimeoutMs),
		isFailure,
		keepAliveBufferMs: durationMsOption('agentKeepAliveTimeoutBuffer', agentKeepAliveTimeoutBuffer, 0),
		clock: systemClock,
		keepAlive: booleanOption('keepAlive', agentOptions.keepAlive),
		socketTimeoutMs: agentOptions.timeout ?? 0,
	};
	return { settings, agentOptions };
}
