import {
	type BalancingPolicy,
	balancingPolicies,
	DEFAULT_POLICY,
	type ZonePolicy,
	zonePolicies,
} from '@spock/balancer';
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
	durationMsOption,
	integerOption,
	isInteger,
	knownMembers,
	oneOfOption,
	type Random,
	stringOption,
	systemClock,
} from '@spock/protocol/internal';
import type { SocketAddress } from '@spock/protocol/node';

import { COUNT_MAX, callersOption, nameOption, resolveAddress, subsetOption, tokenOption } from './own-options.ts';
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
	 * How local lookups share the work out. Default `round-robin`. `least-in-flight` and `least-latency` depend on
	 * leases and reports.
	 */
	readonly policy?: BalancingPolicy;
	/**
	 * The zone that this app runs in, such as `eu-1a`, as the registry names it. Default: the zone that the sidecar names in its answer to
	 * hello; without one, unknown.
	 */
	readonly zone?: string;
	/**
	 * `prefer`: instances of this app's own zone get all its work as long as their part of the healthy weight covers the zone's part of the
	 * callers; the rest spills over to zones that have more weight than callers. `any` (default): zones do not matter. Picks with a key
	 * go by the key alone.
	 */
	readonly zonePolicy?: ZonePolicy;
	/**
	 * How many callers like this app each zone has, in any unit: `{ 'eu-1a': 6, 'eu-1b': 4 }`. For `zonePolicy: 'prefer'`. Default: the
	 * same number in each zone that has instances of the service.
	 */
	readonly zoneCallers?: Readonly<Record<string, number>>;
	/**
	 * Most instances of a service that get work of this client, always the same ones while they serve: fewer connections to a large
	 * service. A number for each service, or an object with one for some: `{ orders: 20 }`. Default 0: all; 10 to 100 is sensible. Picks
	 * with a key go by the key alone.
	 */
	readonly subset?: number | Readonly<Record<string, number>>;
	/**
	 * What subsets are drawn by: clients with different keys get different ones. With the name of its pod, an app gets the same one after a
	 * restart. Default: a random one.
	 */
	readonly subsetKey?: string;
	/** Calls to an instance that fail in a row before it gets no more for a while. Default 5; 0: never, 3 to 20 is sensible. */
	readonly ejectAfterFailures?: number;
	/** How long an instance is ejected the first time, in milliseconds; it doubles, and grows by up to a tenth. Default 10000. */
	readonly ejectionMsMin?: number;
	/** What the doubling stops at, in milliseconds. Default 300000. At least `ejectionMsMin`. */
	readonly ejectionMsMax?: number;
	/** Most of a service's instances that are left out because they are ejected, in per cent, rounded down. Default 50. */
	readonly ejectedPercentMax?: number;
	/** A subscription that has not been read for this long is ended, in milliseconds. Default 300000. */
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
	 * Longest frame to accept, in bytes; raise it together with the sidecar's. A service that does not fit comes in parts. From an older
	 * sidecar it is FRAME_TOO_LARGE, and one that has grown too long keeps its older snapshot, marked `oversize`; so are keys from any.
	 * Default 1 MiB, 1024 to 256 MiB.
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
	 * Asked for services that the sidecar has never reported, while it is disconnected: a source such as
	 * `consulSource` of @spock/discovery, or a function that makes it, called when it is first needed. The client owns it:
	 * `drain` and `close` close it. With it, `connect` waits for a sidecar only for `fallbackAfterMs`. Default: none.
	 */
	readonly fallback?: ServiceSource | (() => ServiceSource);
	/** How long the sidecar may be away before the fallback is asked, in milliseconds. Default 250. */
	readonly fallbackAfterMs?: number;
	/**
	 * True: neither socket nor timers keep the process alive, not even for calls in flight; only `connect` and `ready` do, until they
	 * settle. Default false.
	 */
	readonly unref?: boolean;
	/** Time; for tests and simulations. Default: the process's. */
	readonly clock?: Clock;
	/** Uniform numbers in [0, 1), for jitter and picks. Default `Math.random`. */
	readonly random?: Random;
	/** Opens the byte stream; for tests and simulations. Default: a socket of node:net. */
	readonly transport?: Transport;
}

/** Options that have neither a default nor a check of one value: each is resolved by itself. */
type OwnOption =
	| 'path'
	| 'host'
	| 'port'
	| 'token'
	| 'name'
	| 'fallback'
	| 'zone'
	| 'zoneCallers'
	| 'subset'
	| 'subsetKey';

/** Every option with its value; frozen. */
export interface ResolvedOptions extends Required<Omit<DiplomatOptions, OwnOption>> {
	readonly address: SocketAddress;
	readonly name?: string;
	readonly token?: DiplomatOptions['token'];
	readonly zone?: string;
	readonly zoneCallers?: ReadonlyMap<string, number>;
	/** For each service, or by its name. */
	readonly subset: number | ReadonlyMap<string, number>;
	/** Undefined without a subset. */
	readonly subsetKey?: string;
	/** For hello: the sidecar whose client this is. Undefined: it is an app's. */
	readonly sidecar?: string;
}

type Resolved = Required<Omit<DiplomatOptions, OwnOption>>;

/** What an option is: its default, and the check of a value. The doc comment on the interface says what it means. */
interface Descriptor<T> {
	/** Of the options given: a floor and its ceiling make room for one another. */
	readonly byDefault: (given: DiplomatOptions) => T;
	/** Throws a RangeError or a TypeError naming the option and the value; gives the value back. */
	readonly check: (name: string, value: unknown, given: DiplomatOptions) => T;
}

const OPTIONS: { readonly [Name in keyof Resolved]: Descriptor<Resolved[Name]> } = {
	readyTimeoutMs: durationMs(DEFAULT_READY_TIMEOUT_MS),
	timeoutMs: durationMs(DEFAULT_TIMEOUT_MS),
	dialTimeoutMs: durationMs(DEFAULT_DIAL_TIMEOUT_MS),
	lookups: oneOf('local', ['local', 'remote']),
	policy: oneOf(DEFAULT_POLICY, balancingPolicies),
	zonePolicy: oneOf('any', zonePolicies),
	ejectAfterFailures: integer(DEFAULT_EJECT_AFTER_FAILURES, 0),
	...range('ejectionMsMin', DEFAULT_EJECTION_MS_MIN, 'ejectionMsMax', DEFAULT_EJECTION_MS_MAX),
	ejectedPercentMax: integer(DEFAULT_EJECTED_PERCENT_MAX, 0, 100),
	idleSubscriptionMs: durationMs(DEFAULT_IDLE_SUBSCRIPTION_MS),
	subscriptionsMax: integer(DEFAULT_SUBSCRIPTIONS_MAX, 0),
	inFlightMax: integer(IN_FLIGHT_MAX, 1),
	whileNarrowed: oneOf('wait', ['wait', 'fail']),
	waitingMax: integer(IN_FLIGHT_MAX, 1),
	whileDisconnected: oneOf('wait', ['wait', 'fail']),
	pendingOutputBytesMax: integer(OUTPUT_BYTES_MAX, 1024, 2 ** 30),
	frameBytesMax: integer(FRAME_BYTES_MAX, FRAME_BYTES_MAX_FLOOR, FRAME_BYTES_MAX_CEILING),
	heartbeatMs: durationMs(DEFAULT_HEARTBEAT_MS),
	...range('retryDelayMsMin', DEFAULT_RETRY_DELAY_MS_MIN, 'retryDelayMsMax', DEFAULT_RETRY_DELAY_MS_MAX),
	stableMs: durationMs(DEFAULT_STABLE_MS),
	fallbackAfterMs: durationMs(DEFAULT_FALLBACK_AFTER_MS),
	unref: { byDefault: () => false, check: booleanOption },
	clock: { byDefault: () => systemClock, check: (_name, value) => value as Clock },
	random: aFunction<Random>(Math.random),
	transport: aFunction<Transport>(socketTransport),
};

/** The options of `connect` and `createDiplomat` besides the table's. */
const OWN_OPTIONS: Readonly<Record<OwnOption | 'signal' | 'source', true>> = {
	path: true,
	host: true,
	port: true,
	token: true,
	name: true,
	fallback: true,
	zone: true,
	zoneCallers: true,
	subset: true,
	subsetKey: true,
	signal: true,
	source: true,
};

const OPTION_NAMES: readonly string[] = Object.keys({ ...OWN_OPTIONS, ...OPTIONS });

/** Checks the options once and fills in the defaults. Throws a RangeError or a TypeError naming option and value. */
export function resolveOptions(options: DiplomatOptions = {}): ResolvedOptions {
	knownMembers('option', options, OPTION_NAMES);
	const entries = Object.entries(OPTIONS).map(([name, { byDefault, check }]) => {
		const value = options[name as keyof Resolved] ?? byDefault(options);
		return [name, check(name, value, options)];
	});
	// Each entry is of its descriptor, and there is one for each option.
	const resolved = Object.fromEntries(entries) as unknown as Resolved;
	const { subset = 0, subsetKey = subset === 0 ? undefined : String(resolved.random()) } = options;
	return Object.freeze({
		address: Object.freeze(resolveAddress(options)),
		...(options.token !== undefined && { token: tokenOption(options.token) }),
		...(options.name !== undefined && { name: nameOption(options.name) }),
		...(options.zone !== undefined && { zone: stringOption('zone', options.zone) }),
		...(options.zoneCallers !== undefined && { zoneCallers: callersOption(options.zoneCallers) }),
		subset: subsetOption(subset),
		...(subsetKey !== undefined && { subsetKey: stringOption('subsetKey', subsetKey) }),
		...resolved,
	});
}

function integer(byDefault: number, min: number, max: number = COUNT_MAX): Descriptor<number> {
	return { byDefault: () => byDefault, check: (name, value) => integerOption(name, value, min, max) };
}

function durationMs(byDefault: number): Descriptor<number> {
	return integer(byDefault, 1, TIMEOUT_MS_MAX);
}

/** A floor and a ceiling. Either may be given alone: the default of the other makes room for it. */
function range<Min extends NumberOption, Max extends NumberOption>(
	minName: Min,
	defaultMin: number,
	maxName: Max,
	defaultMax: number,
): Record<Min | Max, Descriptor<number>> {
	const floor: Descriptor<number> = {
		// A ceiling that is no duration is refused by its own check.
		byDefault: ({ [maxName]: max }) => (isInteger(max, 1) ? Math.min(defaultMin, max) : defaultMin),
		check: durationMs(defaultMin).check,
	};
	const floorOf = (given: DiplomatOptions): number => given[minName] ?? floor.byDefault(given);
	const ceiling: Descriptor<number> = {
		byDefault: (given) => Math.max(defaultMax, floorOf(given)),
		check: (name, value, given) => durationMsOption(name, value, floorOf(given)),
	};
	return { [minName]: floor, [maxName]: ceiling } as Record<Min | Max, Descriptor<number>>;
}

type NumberOption = {
	[Name in keyof DiplomatOptions]-?: DiplomatOptions[Name] extends number | undefined ? Name : never;
}[keyof DiplomatOptions];

function oneOf<Word extends string>(byDefault: NoInfer<Word>, words: readonly Word[]): Descriptor<Word> {
	return { byDefault: () => byDefault, check: (name, value) => oneOfOption(name, value, words) };
}

function aFunction<T>(byDefault: T): Descriptor<T> {
	return {
		byDefault: () => byDefault,
		check: (name, value) => {
			if (typeof value !== 'function') throw new TypeError(`${name} must be a function, not ${typeof value}`);
			return value as T;
		},
	};
}
