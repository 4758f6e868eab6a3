import type { CallOutcome } from '@spock/client';
import { isConnectionError, outcomeOf } from '@spock/client/integrations';

/** How a request ended, as Node tells it. */
export interface CallEnd {
	/** What the response's head says of the instance; undefined: there was none. */
	readonly head: 'success' | 'failure' | undefined;
	/** True when the whole response has come. */
	readonly isComplete: boolean;
	/** Why the response broke off; undefined when its reader left it without a reason. */
	readonly responseError: unknown;
	/** Present when the caller destroyed the request, with the reason that it gave, if any. */
	readonly destroyed: { readonly reason: unknown } | undefined;
	/** True when `timeout` was emitted. */
	readonly hasTimedOut: boolean;
	/** What the request failed with. */
	readonly error: unknown;
}

/** What a request's end says of its instance. */
export function outcomeOfEnd(end: CallEnd): CallOutcome {
	if (end.head === 'failure' || (end.head === 'success' && end.isComplete)) return end.head;
	if (end.destroyed !== undefined) return outcomeOfReason(end.destroyed.reason, end.hasTimedOut);
	if (end.head === 'success' && end.error === undefined) return outcomeOfReason(end.responseError, end.hasTimedOut);
	return outcomeOf(end.error);
}

/** Of a caller that gave up: because it had waited long enough, or for a reason of its own, which says nothing of the instance. */
function outcomeOfReason(reason: unknown, hasTimedOut: boolean): CallOutcome {
	return hasTimedOut || isConnectionError(reason) ? 'failure' : 'cancelled';
}
