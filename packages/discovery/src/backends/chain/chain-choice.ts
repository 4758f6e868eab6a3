import { SpockError } from '@spock/protocol';
import { isFinal } from '@spock/protocol/internal';

import type { BackendObserver } from '../../foundation/backend.ts';

/** An answer with everything that came with it. */
export type Answer = Parameters<BackendObserver['answered']>;

/** The state of one query at one member of a chain. */
export interface MemberWord {
	/** Its last good answer; undefined before the first. */
	readonly answer: Answer | undefined;
	/** Why it cannot answer now; undefined while it can. */
	readonly error: SpockError | undefined;
	/** True if it knew the service when it was last asked, in this watch or an earlier one. */
	readonly knew: boolean;
	/** True when its time for a first answer is over. */
	readonly isLate: boolean;
}

/** The outcome of the chain: an answer or a failure of one member, or nothing yet. */
export type ChainChoice =
	| { readonly kind: 'waiting' }
	| { readonly kind: 'answered'; readonly member: number; readonly answer: Answer }
	| { readonly kind: 'failed'; readonly member: number; readonly error: SpockError };

const WAITING: ChainChoice = { kind: 'waiting' };

/**
 * Chooses the first member that knows the service. A member that knew it is still chosen while it fails, so that an outage never
 * replaces a service's instances by another registry's. A member that never knew it is passed over when it answers so, fails or is
 * late. The service counts as unknown only if all members can answer. A failure is final only if no other member may still answer.
 */
export function chooseMember(members: readonly MemberWord[]): ChainChoice {
	let failed: Extract<ChainChoice, { kind: 'failed' }> | undefined;
	let isPending = false;
	let empty: ChainChoice | undefined;
	for (const [member, { answer, error, knew, isLate }] of members.entries()) {
		if (answer !== undefined && answer[0].length > 0) {
			return error === undefined ? { kind: 'answered', member, answer } : { kind: 'failed', member, error };
		}
		if (error !== undefined) {
			// It knew the service when it was last asked: no other member may replace it.
			if (knew) return { kind: 'failed', member, error };
			// Of several the first, but rather one that may pass: it is what callers wait for.
			if (failed === undefined || (isFinal(failed.error) && !isFinal(error)))
				failed = { kind: 'failed', member, error };
		} else if (answer !== undefined) {
			empty ??= { kind: 'answered', member, answer };
		} else if (knew || !isLate) {
			return WAITING;
		} else {
			isPending = true;
		}
	}
	if (failed !== undefined) return isPending && isFinal(failed.error) ? passing(failed) : failed;
	return isPending || empty === undefined ? WAITING : empty;
}

/** The refusal of one member while another has not answered yet. */
function passing(failed: Extract<ChainChoice, { kind: 'failed' }>): ChainChoice {
	const { message } = failed.error;
	return { ...failed, error: new SpockError('UNAVAILABLE', message, { cause: failed.error }) };
}
