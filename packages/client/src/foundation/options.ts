import { type BalancingPolicy, balancingPolicies, DEFAULT_POLICY } from '@spock/balancer';
import {
	FRAME_BYTES_MAX,
	FRAME_BYTES_MAX_CEILING,
	FRAME_BYTES_MAX_FLOOR,
	IN_FLIGHT_MAX,
	OUTPUT_BYTES_MAX,
	type ServiceSource,
	TIMEOUT_MS_MAX,
} from '@spock/protocol';
import {
	booleanOption,
	type Clock,
	integerOption,
	isText,
	knownMembers,
	oneOfOption,
	type Random,
	stringOption,
	systemClock,
} from '@spock/protocol/internal';
import { assertSocketPathFits, type SocketAddress } from '@spock/protocol/node';

import { defaultAddress } from './default-address.ts';
import { NAME_LENGTH_MAX } from './default-name.ts';
import { socketTransport, type Transport } from './transport.ts';

export const DEFAULT_READY_TIMEOUT_MS = 10_000;
export const DEFAULT_TIMEOUT_MS = 5000;
export const DEFAULT_DIAL_TIMEOUT_MS = 5000;
export const DEFAULT_IDLE_SUBSCRIPTION_MS = 300_000;
export const DEFAULT_SUBSCRIPTIONS_MAX = 4096;
export const DEFAULT_HEARTBEAT_MS = 10_000;
export const DEFAULT_RETRY_DELAY_MS_MIN = 10;
export const DEFAULT_RETRY_DELAY_MS_MAX = 1000;
export const DEFAULT_STABLE_MS = 5000;
export const DEFAULT_FALLBACK_AFTER_MS = 250;
export const DEFAULT_EJECT_AFTER_FAILURES = 5;
export const DEFAULT_EJECTION_MS_MIN = 10_000;
export const DEFAULT_EJECTION_MS_MAX = 300_000;
export const DEFAULT_EJECTED_PERCENT_MAX = 50;

/** Largest count that an option may ask for; past it a process has other limits. */
const COUNT_MAX = 2 ** 24;

/** Options of `connect` and `createDiplomat`. Wrong ones throw at the call, naming the option and its value. */
export interface DiplomatOptions {
	/**
	 * Path of the sidecar's unix domain socket, at most 107 bytes (103 on macOS). Default: SPOCK_SOCKET; else
	 * `/uds/sidecar.sock` where there is a directory `/uds`; else `/tmp/spock-<uid>/sidecar.sock`. Not with `port`.
	 */
	readonly path?: string;
	/** Host of a sidecar that listens on TCP. Default, with `port`: 127.0.0.1. */
	readonly host?: string;
	/** Port of a sidecar that listens on TCP, 1 to 65535. */
	readonly port?: number;
	/**
	 * The token that a sidecar wants in hello, or a function that gives it, asked at every attempt to connect (it may read a
	 * file). Never shown anywhere. Default: none.
	 */
	readonly token?: string | (() => string | Promise<string>);
	/**
	 * What the app is called in the log, the status and the status page of its sidecar, 1 to 214 characters. Default: the name in the
	 * nearest package.json of the process's main module; else that of this library.
	 */
	readonly name?: string;
	/** How long `connect` and `ready` wait for the sidecar, in milliseconds. Default 10000; 1000 to 60000 is sensible. */
	readonly readyTimeoutMs?: number;
	/** Deadline of a call that gives none, in milliseconds. Default 5000; 100 to 30000 is sensible. */
	readonly timeoutMs?: number;
	/** How long one attempt to connect and greet may take, in milliseconds. Default 5000. */
	readonly dialTimeoutMs?: number;
	/**
	 * `local` (default): the first lookup of a service subscribes to it, later ones are picked in this process with no
	 * I/O. `remote`: the sidecar is asked every time.
	 */
	readonly lookups?: 'local' | 'remote';
	/**
	 * How local lookups share the work out. Default `round-robin`. `least-in-flight` and `least-latency` live on what leases
	 * and reports tell.
	 */
	readonly policy?: BalancingPolicy;
	/** Calls to an instance that fail in a row before it gets no more for a while. Default 5; 0: never, 3 to 20 is sensible. */
	readonly ejectAfterFailures?: number;
	/** How long an instance is ejected the first time, in milliseconds; it doubles, and grows by up to a tenth. Default 10000. */
	readonly ejectionMsMin?: number;
	/** What the doubling stops at, in milliseconds. Default 300000. At least `ejectionMsMin`. */
	readonly ejectionMsMax?: number;
	/** Most of a service's instances that are left out because they are ejected, in per cent, rounded down. Default 50. */
	readonly ejectedPercentMax?: number;
	/** A subscription that nobody has read for this long is ended, in milliseconds. Default 300000. */
	readonly idleSubscriptionMs?: number;
	/** Most services subscribed to at once; past it lookups go over the wire. Default 4096, 0 to 16777216. */
	readonly subscriptionsMax?: number;
	/** Most requests in flight; the next one is OVERLOADED. A sidecar may ask for less. Default 65536, 1 to 16777216. */
	readonly inFlightMax?: number;
	/**
	 * An overloaded sidecar may narrow the requests in flight for a while. `wait` (default): calls above that wait, within their
	 * deadlines, `waitingMax` of them. `fail`: they are OVERLOADED at once.
	 */
	readonly whileNarrowed?: 'wait' | 'fail';
	/** Most calls that wait for a connection; the next one is OVERLOADED. Default 65536, 1 to 16777216. */
	readonly waitingMax?: number;
	/** `wait` (default): calls made without a connection wait for one, within their deadline. `fail`: DISCONNECTED. */
	readonly whileDisconnected?: 'wait' | 'fail';
	/** Most bytes written and not yet taken by the sidecar; calls past it are OVERLOADED. Default 8 MiB, 1024 to 2^30. */
	readonly pendingOutputBytesMax?: number;
	/**
	 * Longest frame to accept, in bytes; raise it together with the sidecar's. A service that does not fit is
	 * FRAME_TOO_LARGE; one that has grown too long keeps its older snapshot, marked `oversize`. Default 1 MiB, 1024 to 256 MiB.
	 */
	readonly frameBytesMax?: number;
	/**
	 * How often a connection is checked, in milliseconds; two checks without a byte from the sidecar and it is replaced.
	 * Default 10000; below 1000 a busy machine looks like a dead one.
	 */
	readonly heartbeatMs?: number;
	/** Ceiling of the first delay between two attempts, in milliseconds; it doubles, with full jitter. Default 10. */
	readonly retryDelayMsMin?: number;
	/** Ceiling that the doubling stops at, in milliseconds. Default 1000. At least `retryDelayMsMin`. */
	readonly retryDelayMsMax?: number;
	/** A connection that held this long starts the delays from the first again, in milliseconds. Default 5000. */
	readonly stableMs?: number;
	/**
	 * Asked for services that the sidecar has never told of, while there is no connection to it: a source such as
	 * `consulSource` of @spock/discovery, or a function that makes it, called when it is first needed. The client owns it:
	 * `drain` and `close` close it. With it, `connect` waits for a sidecar only for `fallbackAfterMs`. Default: none.
	 */
	readonly fallback?: ServiceSource | (() => ServiceSource);
	/** How long the sidecar may be away before the fallback is asked, in milliseconds. Default 250. */
	readonly fallbackAfterMs?: number;
	/** True: neither socket nor timers keep the process alive, not even for calls in flight. Default false. */
	readonly unref?: boolean;
	/** Time; for tests and simulations. Default: the process's. */
	readonly clock?: Clock;
	/** Uniform numbers in [0, 1), for jitter and picks. Default `Math.random`. */
	readonly random?: Random;
	/** Opens the byte stream; for tests and simulations. Default: a socket of node:net. */
	readonly transport?: Transport;
}

/** Every option there is, those of `connect` and `createDiplomat` among them. */
const OPTION_NAMES: readonly string[] = Object.keys({
	path: 0,
	host: 0,
	port: 0,
	token: 0,
	name: 0,
	readyTimeoutMs: 0,
	timeoutMs: 0,
	dialTimeoutMs: 0,
	lookups: 0,
	policy: 0,
	ejectAfterFailures: 0,
	ejectionMsMin: 0,
	ejectionMsMax: 0,
	ejectedPercentMax: 0,
	idleSubscriptionMs: 0,
	subscriptionsMax: 0,
	inFlightMax: 0,
	whileNarrowed: 0,
	waitingMax: 0,
	whileDisconnected: 0,
	pendingOutputBytesMax: 0,
	frameBytesMax: 0,
	heartbeatMs: 0,
	retryDelayMsMin: 0,
	retryDelayMsMax: 0,
	stableMs: 0,
	fallback: 0,
	fallbackAfterMs: 0,
	unref: 0,
	clock: 0,
	random: 0,
	transport: 0,
	signal: 0,
	source: 0,
} satisfies Record<keyof DiplomatOptions | 'signal' | 'source', 0>);

/** Every option with its value; frozen. */
export interface ResolvedOptions
	extends Required<Omit<DiplomatOptions, 'path' | 'host' | 'port' | 'fallback' | 'token' | 'name'>> {
	readonly address: SocketAddress;
	readonly name?: string;
	readonly token?: DiplomatOptions['token'];
}

/** Checks the options once and fills in the defaults. Throws a RangeError or a TypeError naming option and value. */
export function resolveOptions(options: DiplomatOptions = {}): ResolvedOptions {
	knownMembers('option', options, OPTION_NAMES);
	// Either end of the range may be given alone: the default of the other gives way.
	const { retryDelayMsMax: ceilingMs = DEFAULT_RETRY_DELAY_MS_MIN } = options;
	const retryDelayMsMin = durationMs(options, 'retryDelayMsMin', Math.min(DEFAULT_RETRY_DELAY_MS_MIN, ceilingMs));
	const { ejectionMsMax: longestMs = DEFAULT_EJECTION_MS_MIN } = options;
	const ejectionMsMin = durationMs(options, 'ejectionMsMin', Math.min(DEFAULT_EJECTION_MS_MIN, longestMs));
	const resolved: ResolvedOptions = {
		address: Object.freeze(resolveAddress(options)),
		...(options.token !== undefined && { token: tokenOption(options.token) }),
		...(options.name !== undefined && { name: nameOption(options.name) }),
		readyTimeoutMs: durationMs(options, 'readyTimeoutMs', DEFAULT_READY_TIMEOUT_MS),
		timeoutMs: durationMs(options, 'timeoutMs', DEFAULT_TIMEOUT_MS),
		dialTimeoutMs: durationMs(options, 'dialTimeoutMs', DEFAULT_DIAL_TIMEOUT_MS),
		lookups: oneOf(options, 'lookups', 'local', ['local', 'remote']),
		policy: oneOf(options, 'policy', DEFAULT_POLICY, balancingPolicies),
		ejectAfterFailures: integer(options, 'ejectAfterFailures', DEFAULT_EJECT_AFTER_FAILURES, 0, COUNT_MAX),
		ejectionMsMin,
		ejectionMsMax: durationMs(
			options,
			'ejectionMsMax',
			Math.max(DEFAULT_EJECTION_MS_MAX, ejectionMsMin),
			ejectionMsMin,
		),
		ejectedPercentMax: integer(options, 'ejectedPercentMax', DEFAULT_EJECTED_PERCENT_MAX, 0, 100),
		idleSubscriptionMs: durationMs(options, 'idleSubscriptionMs', DEFAULT_IDLE_SUBSCRIPTION_MS),
		subscriptionsMax: integer(options, 'subscriptionsMax', DEFAULT_SUBSCRIPTIONS_MAX, 0, COUNT_MAX),
		inFlightMax: integer(options, 'inFlightMax', IN_FLIGHT_MAX, 1, COUNT_MAX),
		whileNarrowed: oneOf(options, 'whileNarrowed', 'wait', ['wait', 'fail']),
		waitingMax: integer(options, 'waitingMax', IN_FLIGHT_MAX, 1, COUNT_MAX),
		whileDisconnected: oneOf(options, 'whileDisconnected', 'wait', ['wait', 'fail']),
		pendingOutputBytesMax: integer(options, 'pendingOutputBytesMax', OUTPUT_BYTES_MAX, 1024, 2 ** 30),
		frameBytesMax: integer(options, 'frameBytesMax', FRAME_BYTES_MAX, FRAME_BYTES_MAX_FLOOR, FRAME_BYTES_MAX_CEILING),
		heartbeatMs: durationMs(options, 'heartbeatMs', DEFAULT_HEARTBEAT_MS),
		retryDelayMsMin,
		retryDelayMsMax: durationMs(
			options,
			'retryDelayMsMax',
			Math.max(DEFAULT_RETRY_DELAY_MS_MAX, retryDelayMsMin),
			retryDelayMsMin,
		),
		stableMs: durationMs(options, 'stableMs', DEFAULT_STABLE_MS),
		fallbackAfterMs: durationMs(options, 'fallbackAfterMs', DEFAULT_FALLBACK_AFTER_MS),
		unref: booleanOption('unref', options.unref ?? false),
		clock: options.clock ?? systemClock,
		random: functionOption('random', options.random ?? Math.random),
		transport: functionOption('transport', options.transport ?? socketTransport),
	};
	return Object.freeze(resolved);
}

function resolveAddress({ path, host, port }: DiplomatOptions): SocketAddress {
	if (path !== undefined) {
		if (port !== undefined || host !== undefined) throw new TypeError('give either path or host and port, not both');
		assertSocketPathFits(stringOption('path', path), process.platform);
		return { path };
	}
	if (port !== undefined) {
		return { host: stringOption('host', host ?? '127.0.0.1'), port: integerOption('port', port, 1, 65_535) };
	}
	if (host !== undefined) throw new TypeError(`host needs a port: got host ${JSON.stringify(host)} alone`);
	return defaultAddress();
}

function nameOption(name: string): string {
	const { length } = stringOption('name', name);
	if (length > NAME_LENGTH_MAX) {
		throw new RangeError(`name must be of at most ${NAME_LENGTH_MAX} characters, not of ${length}`);
	}
	if (!isText(name)) throw new RangeError(`name must be without lone surrogates, not ${JSON.stringify(name)}`);
	return name;
}

/** The message does not show what was given: it may be half a secret. */
function tokenOption(token: DiplomatOptions['token']): DiplomatOptions['token'] {
	const isUsable = token === undefined || typeof token === 'function' || (typeof token === 'string' && token !== '');
	if (!isUsable) throw new TypeError('token must be a string that is not empty, or a function that gives one');
	return token;
}

type NumberOption = {
	[Name in keyof DiplomatOptions]-?: DiplomatOptions[Name] extends number | undefined ? Name : never;
}[keyof DiplomatOptions];

function integer(options: DiplomatOptions, name: NumberOption, byDefault: number, min: number, max: number): number {
	return integerOption(name, options[name] ?? byDefault, min, max);
}

function durationMs(options: DiplomatOptions, name: NumberOption, byDefault: number, min = 1): number {
	return integer(options, name, byDefault, min, TIMEOUT_MS_MAX);
}

function oneOf<Name extends 'lookups' | 'policy' | 'whileDisconnected' | 'whileNarrowed'>(
	options: DiplomatOptions,
	name: Name,
	byDefault: ResolvedOptions[Name],
	words: readonly ResolvedOptions[Name][],
): ResolvedOptions[Name] {
	return oneOfOption(name, options[name] ?? byDefault, words);
}

function functionOption<T>(name: string, value: T): T {
	if (typeof value !== 'function') throw new TypeError(`${name} must be a function, not ${typeof value}`);
	return value;
}
