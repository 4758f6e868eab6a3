import { type BalancingPolicy, balancingPolicies, DEFAULT_POLICY, needsRecords } from '@spock/balancer';
import {
	BAD_FRAMES_IN_A_ROW_MAX,
	FRAME_BYTES_MAX,
	FRAME_BYTES_MAX_CEILING,
	FRAME_BYTES_MAX_FLOOR,
	IN_FLIGHT_MAX,
	OUTPUT_BYTES_MAX,
	SLOW_CONSUMER_MS,
	TIMEOUT_MS_MAX,
} from '@spock/protocol';
import { integerOption, oneOfOption } from '@spock/protocol/internal';

/** What a sidecar allows its clients and itself. Durations are milliseconds, sizes bytes. */
export interface SidecarLimits {
	/** Longest frame, 1024 to 268435456. Default 1 MiB. Told in hello. */
	readonly frameBytesMax?: number;
	/** Requests that one connection may have waiting for an answer. Default 65536. Told in hello. */
	readonly inFlightMax?: number;
	/** Connections at once; the next one is closed at once and counted. A tenth is kept for unix domain sockets. Default 10000. */
	readonly connectionsMax?: number;
	/**
	 * Connections by TCP that have not shown the token which their listener wants; they count against no other limit. The next one
	 * takes the place of the oldest. Default 1024.
	 */
	readonly strangersMax?: number;
	/** Subscriptions of one connection; the next one is OVERLOADED. Default 4096. */
	readonly subscriptionsMax?: number;
	/** Output that one client may leave unread before reading from it stops. Default 8 MiB. */
	readonly outputBytesMax?: number;
	/** How long a client may stay above `outputBytesMax` before it is closed. Default 30000. */
	readonly slowConsumerMs?: number;
	/** Requests of all connections together that may wait; past it only who has none waiting may wait. Default 262144. */
	readonly inFlightTotalMax?: number;
	/** Bytes of the waiting requests longer than 1 KiB, of all connections; the next one is OVERLOADED, of one client at half of it. Default 64 MiB. */
	readonly inFlightBytesMax?: number;
	/** Output that all clients together may leave unread before each one's share of it is its limit. Default 256 MiB. */
	readonly outputTotalBytesMax?: number;
	/** The event loop's delay from which on the sidecar is overloaded, and windows are narrowed. Default 50. */
	readonly loopDelayMsMax?: number;
	/** Frames of one connection that are handled before the others have their turn. Default 64. */
	readonly framesPerTurnMax?: number;
	/** How long a new connection may take to its first frame, or with a token to its hello. Default 30000. */
	readonly handshakeMs?: number;
	/** Connections that the kernel holds until they are accepted; it may hold fewer by itself. Default 4096. */
	readonly backlog?: number;
	/**
	 * Bytes of frames that have not come whole, of all connections. Past it, or half of it for one client, a connection with a long one is
	 * closed. Default 64 MiB.
	 */
	readonly partialBytesMax?: number;
	/** How long a frame may take from its first byte to its last. Default 30000. */
	readonly partialFrameMs?: number;
	/** Bad frames in a row after which a connection is closed. Default 16. */
	readonly badFramesInARowMax?: number;
	/** After a request to end: how long clients are served at least, 0 allowed. Default 1000. */
	readonly graceMs?: number;
	/** After a request to end: when clients that have not left are cut off. Default 25000, below a pod's 30 s. */
	readonly drainTimeoutMs?: number;
	/**
	 * How getService shares out the work. Default `round-robin`. Not those that depend on how calls end, which a sidecar does not learn.
	 */
	readonly policy?: BalancingPolicy;
}

/** {@link SidecarLimits} with every default filled in; frozen. */
export type ResolvedLimits = Readonly<Required<SidecarLimits>>;

/** The limits that are numbers. */
export type NumericLimit = Exclude<keyof SidecarLimits, 'policy'>;

/** All there is to know of one limit. It is a setting of `sidecar start` too: flag, variable and reference page follow from it. */
export interface Limit {
	readonly kind: 'integer' | 'duration';
	readonly unit: 'bytes' | 'count' | 'ms';
	readonly default: number;
	/** The range of sensible values, ends included. */
	readonly min: number;
	readonly max: number;
	/** One sentence for people. */
	readonly help: string;
}

/** Every limit, described once. */
export const limitTable: Readonly<Record<NumericLimit, Limit>> = {
	frameBytesMax: limit('bytes', FRAME_BYTES_MAX, 'longest frame', FRAME_BYTES_MAX_FLOOR, FRAME_BYTES_MAX_CEILING),
	inFlightMax: limit('count', IN_FLIGHT_MAX, 'requests of one connection waiting for an answer', 1, 1_048_576),
	inFlightTotalMax: limit('count', 262_144, 'requests of all connections waiting for an answer', 1, 1_073_741_824),
	inFlightBytesMax: limit(
		'bytes',
		64 * 1024 * 1024,
		'bytes of those that are longer than 1 KiB; one client may have half of them',
		65_536,
		2 ** 40,
	),
	connectionsMax: limit('count', 10_000, 'connections at once'),
	strangersMax: limit('count', 1024, 'TCP connections that have shown no token yet; the oldest makes room'),
	subscriptionsMax: limit('count', 4096, 'subscriptions of one connection to services; the same number to keys'),
	outputBytesMax: limit(
		'bytes',
		OUTPUT_BYTES_MAX,
		'unread output of one client above which the sidecar stops reading from it',
		65_536,
		1_073_741_824,
	),
	outputTotalBytesMax: limit(
		'bytes',
		256 * 1024 * 1024,
		'unread output of all clients above which they share this',
		65_536,
		2 ** 40,
	),
	slowConsumerMs: limit('ms', SLOW_CONSUMER_MS, 'how long a client may leave that much unread before it is closed'),
	partialBytesMax: limit(
		'bytes',
		64 * 1024 * 1024,
		'bytes of frames that have not come whole; one client may have half of them',
		65_536,
		2 ** 40,
	),
	partialFrameMs: limit('ms', 30_000, 'how long a frame may take from its first byte to its last'),
	handshakeMs: limit(
		'ms',
		30_000,
		'how long a new connection may take to its first frame, or with a token to its hello',
	),
	badFramesInARowMax: limit(
		'count',
		BAD_FRAMES_IN_A_ROW_MAX,
		'invalid frames in a row after which a connection is closed',
	),
	framesPerTurnMax: limit('count', 64, 'frames of one connection that are handled before the others have their turn'),
	loopDelayMsMax: limit('ms', 50, 'delay of the event loop above which the busiest clients are slowed down'),
	// Node's 511 gives storms of EAGAIN while the process is busy.
	backlog: limit('count', 4096, 'connections that the kernel holds until they are accepted', 1, 65_535),
	graceMs: limit('ms', 1000, 'minimum time that clients are served after SIGTERM', 0),
	drainTimeoutMs: limit('ms', 25_000, 'time after SIGTERM at which remaining clients are cut off', 0),
};

function limit(
	unit: Limit['unit'],
	byDefault: number,
	help: string,
	min = 1,
	max: number = unit === 'ms' ? TIMEOUT_MS_MAX : 1_000_000,
): Limit {
	return { kind: unit === 'ms' ? 'duration' : 'integer', unit, default: byDefault, min, max, help };
}

/** Policies that a sidecar can follow: it does not learn how calls end. */
export const sidecarPolicies: readonly BalancingPolicy[] = balancingPolicies.filter((policy) => !needsRecords(policy));

/** Fills in the defaults. Throws a RangeError or TypeError that names the option and its value. */
export function resolveLimits(limits: SidecarLimits = {}): ResolvedLimits {
	const resolve = (name: NumericLimit): number =>
		integerOption(name, limits[name] ?? limitTable[name].default, limitTable[name].min, limitTable[name].max);
	const names = Object.keys(limitTable) as NumericLimit[];
	const numbers = Object.fromEntries(names.map((name) => [name, resolve(name)])) as Record<NumericLimit, number>;
	return Object.freeze({ ...numbers, policy: oneOfOption('policy', limits.policy ?? DEFAULT_POLICY, sidecarPolicies) });
}
