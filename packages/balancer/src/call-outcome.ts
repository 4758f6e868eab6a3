/**
 * How a call to an instance ended. `cancelled`: whoever made it gave up, or it never left; that says nothing about the
 * instance.
 */
export type CallOutcome = 'success' | 'failure' | 'cancelled';

/** Every outcome there is. */
export const callOutcomes: readonly CallOutcome[] = Object.freeze(['success', 'failure', 'cancelled']);
