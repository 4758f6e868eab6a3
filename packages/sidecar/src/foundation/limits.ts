import { type BalancingPolicy, balancingPolicies, DEFAULT_POLICY, needsRecords } from '@spock/balancer';
import {
	BAD_FRAMES_IN_A_ROW_MAX,
	FRAME_BYTES_MAX,
	FRAME_BYTES_MAX_CEILING,
	FRAME_BYTES_MAX_FLOOR,
	IN_FLIGHT_MAX,
	OUTPUT_BYTES_MAX,
	SLOW_CONSUMER_MS,
} from '@spock/protocol';
import { durationMsOption, integerOption, oneOfOption } from '@spock/protocol/internal';

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
	/** How long a frame may take from its first byte to its last. Default 30000. */
	readonly partialFrameMs?: number;
	/** Bad frames in a row after which a connection is closed. Default 16. */
	readonly badFramesInARowMax?: number;
	/** After a request to end: how long clients are served at least, 0 allowed. Default 1000. */
	readonly graceMs?: number;
	/** After a request to end: when clients that have not left are cut off. Default 25000, below a pod's 30 s. */
	readonly drainTimeoutMs?: number;
	/**
	 * How getService shares out the work. Default `round-robin`. Not those that live on how calls end: a sidecar is not told.
	 */
	readonly policy?: BalancingPolicy;
}

/** {@link SidecarLimits} with every default filled in; frozen. */
export type ResolvedLimits = Readonly<Required<SidecarLimits>>;

export const DEFAULT_CONNECTIONS_MAX = 10_000;
export const DEFAULT_STRANGERS_MAX = 1024;
export const DEFAULT_SUBSCRIPTIONS_MAX = 4096;
export const DEFAULT_PARTIAL_FRAME_MS = 30_000;
export const DEFAULT_IN_FLIGHT_TOTAL_MAX = 262_144;
export const DEFAULT_OUTPUT_TOTAL_BYTES_MAX: number = 256 * 1024 * 1024;
export const DEFAULT_LOOP_DELAY_MS_MAX = 50;
export const DEFAULT_FRAMES_PER_TURN_MAX = 64;
export const DEFAULT_HANDSHAKE_MS = 30_000;
/** Node's 511 gives storms of EAGAIN while the process is busy. */
export const DEFAULT_BACKLOG = 4096;
export const DEFAULT_GRACE_MS = 1000;
export const DEFAULT_DRAIN_TIMEOUT_MS = 25_000;

/** Policies that a sidecar can follow: it is not told how calls end. */
export const sidecarPolicies: readonly BalancingPolicy[] = balancingPolicies.filter((policy) => !needsRecords(policy));

/** Fills in the defaults. Throws a RangeError or TypeError that names the option and its value. */
export function resolveLimits(limits: SidecarLimits = {}): ResolvedLimits {
	const whole = (name: keyof SidecarLimits, fallback: number, min: number, max: number): number =>
		integerOption(name, limits[name] ?? fallback, min, max);
	return Object.freeze({
		frameBytesMax: whole('frameBytesMax', FRAME_BYTES_MAX, FRAME_BYTES_MAX_FLOOR, FRAME_BYTES_MAX_CEILING),
		inFlightMax: whole('inFlightMax', IN_FLIGHT_MAX, 1, 1_048_576),
		connectionsMax: whole('connectionsMax', DEFAULT_CONNECTIONS_MAX, 1, 1_000_000),
		strangersMax: whole('strangersMax', DEFAULT_STRANGERS_MAX, 1, 1_000_000),
		subscriptionsMax: whole('subscriptionsMax', DEFAULT_SUBSCRIPTIONS_MAX, 1, 1_000_000),
		outputBytesMax: whole('outputBytesMax', OUTPUT_BYTES_MAX, 65_536, 1_073_741_824),
		slowConsumerMs: durationMsOption('slowConsumerMs', limits.slowConsumerMs ?? SLOW_CONSUMER_MS),
		partialFrameMs: durationMsOption('partialFrameMs', limits.partialFrameMs ?? DEFAULT_PARTIAL_FRAME_MS),
		badFramesInARowMax: whole('badFramesInARowMax', BAD_FRAMES_IN_A_ROW_MAX, 1, 1_000_000),
		inFlightTotalMax: whole('inFlightTotalMax', DEFAULT_IN_FLIGHT_TOTAL_MAX, 1, 1_073_741_824),
		outputTotalBytesMax: whole('outputTotalBytesMax', DEFAULT_OUTPUT_TOTAL_BYTES_MAX, 65_536, 2 ** 40),
		loopDelayMsMax: durationMsOption('loopDelayMsMax', limits.loopDelayMsMax ?? DEFAULT_LOOP_DELAY_MS_MAX),
		framesPerTurnMax: whole('framesPerTurnMax', DEFAULT_FRAMES_PER_TURN_MAX, 1, 1_000_000),
		handshakeMs: durationMsOption('handshakeMs', limits.handshakeMs ?? DEFAULT_HANDSHAKE_MS),
		backlog: whole('backlog', DEFAULT_BACKLOG, 1, 65_535),
		graceMs: durationMsOption('graceMs', limits.graceMs ?? DEFAULT_GRACE_MS, 0),
		drainTimeoutMs: durationMsOption('drainTimeoutMs', limits.drainTimeoutMs ?? DEFAULT_DRAIN_TIMEOUT_MS, 0),
		policy: oneOfOption('policy', limits.policy ?? DEFAULT_POLICY, sidecarPolicies),
	});
}
