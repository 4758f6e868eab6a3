import { CONNECTION_TARGET_OPTIONS, ConnectionTarget, type ConnectionTargetOptions } from '@spock/client/integrations';
import { durationMsOption, knownMembers } from '@spock/protocol/internal';

/** How long a connection may go on with its query or transaction once its instance has left, in milliseconds. */
export const DEFAULT_LEAVE_TIMEOUT_MS = 10_000;

/** Options of `spockPg`. */
export interface SpockPgOptions extends ConnectionTargetOptions {
	/**
	 * How long a connection may go on with its query or transaction once its instance has left the snapshot, in
	 * milliseconds; then it is cut. 0: at once. Default 10,000.
	 */
	readonly leaveTimeoutMs?: number;
}

/** The options, checked. */
export interface PgTarget {
	readonly target: ConnectionTarget;
	readonly leaveTimeoutMs: number;
}

/** Throws a TypeError or RangeError naming the option that is wrong, or BAD_REQUEST. */
export function resolvePgOptions(options: SpockPgOptions): PgTarget {
	knownMembers('option', options, [...CONNECTION_TARGET_OPTIONS, 'leaveTimeoutMs']);
	const { leaveTimeoutMs = DEFAULT_LEAVE_TIMEOUT_MS } = options;
	return {
		target: new ConnectionTarget(options),
		leaveTimeoutMs: durationMsOption('leaveTimeoutMs', leaveTimeoutMs, 0),
	};
}
