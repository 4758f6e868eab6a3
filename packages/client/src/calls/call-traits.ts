import type { CallTraits } from './call.ts';

export function makeTraits(traits: Partial<CallTraits>): CallTraits {
	return {
		idempotent: false,
		background: false,
		own: false,
		memoised: false,
		again: undefined,
		read: undefined,
		...traits,
	};
}

/** A call of `request`: what comes is passed on as it is, and nothing is sent twice. */
export const PLAIN: CallTraits = makeTraits({});
/** A question that may be asked again after a reconnect. */
export const QUESTION: CallTraits = makeTraits({ idempotent: true });
/** What nobody waits for. */
export const BACKGROUND: CallTraits = makeTraits({ background: true, own: true });
