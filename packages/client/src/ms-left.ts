import type { Clock } from '@spock/protocol/internal';

/** What is left of a deadline for the next step of a call that began at `startedMs`: a whole number, at least 1. */
export function msLeft(timeoutMs: number, startedMs: number, clock: Clock): number {
	return Math.max(1, Math.floor(timeoutMs - (clock.now() - startedMs)));
}
