import type { AnswerMeta } from '../../../foundation/backend.ts';

/** What was confirmed longer ago than this when it came is not called live. */
export const LIVE_AGE_MS_MAX = 10_000;

/**
 * How fresh an answer is that was sent so long ago: as old as the call for it, or as the time that it waited for this process. What an
 * address that is late has held says nothing of how old it is.
 */
export function agedMeta(meta: AnswerMeta | undefined, sentMsAgo: number, isTimely: boolean): AnswerMeta {
	const ageMs = (meta?.ageMs ?? 0) + sentMsAgo;
	return { ...meta, ageMs, ...((!isTimely || ageMs > LIVE_AGE_MS_MAX) && { isUnconfirmed: true }) };
}
