import type { CallOptions } from '@spock/protocol';

import type { ResolvedOptions } from './options.ts';

/**
 * For a call of several steps, begun now: gives its options for the next step, whose `timeoutMs` is what is left of the
 * whole deadline: a whole number, at least 1.
 */
export function timeLeft<O extends CallOptions>(
	options: O,
	{ clock, timeoutMs: defaultMs }: Pick<ResolvedOptions, 'clock' | 'timeoutMs'>,
): () => O & { readonly timeoutMs: number } {
	const endMs = clock.now() + (options.timeoutMs ?? defaultMs);
	return () => ({ ...options, timeoutMs: Math.max(1, Math.floor(endMs - clock.now())) });
}
