import { SpockError } from '../errors/spock-error.ts';
import type { ServiceSnapshot } from './snapshot.ts';

/** Clocks of two machines differ by this much without meaning anything. */
const CLOCK_SKEW_MS = 1000;

/**
 * How long ago the registry confirmed a snapshot, in milliseconds, as far as its holder can know: for a live one since it
 * was told, although it may have been verified since. Infinity where nobody knows, and where the wall clock was set back.
 */
export function knownAgeMs(
	{ ageMs, verifiedAt }: Pick<ServiceSnapshot, 'ageMs' | 'verifiedAt'>,
	wallNowMs: number,
): number {
	const elapsedMs = wallNowMs - verifiedAt;
	return verifiedAt === 0 || elapsedMs < -CLOCK_SKEW_MS ? Number.POSITIVE_INFINITY : Math.max(ageMs, elapsedMs);
}

/** UNAVAILABLE, because what is known is older than the caller wants; `details` has `ageMs` and `maxAgeMs`. */
export function tooOldError(
	noun: 'service' | 'key',
	name: string,
	ageMs: number,
	maxAgeMs: number,
	cause?: unknown,
): SpockError {
	const known = Number.isFinite(ageMs) ? Math.round(ageMs) : null;
	const age = known === null ? 'of unknown age' : `${known} ms old`;
	const message = `the snapshot of ${JSON.stringify(name)} is ${age}; the caller accepts at most ${maxAgeMs} ms`;
	return new SpockError('UNAVAILABLE', message, { details: { [noun]: name, ageMs: known, maxAgeMs }, cause });
}
