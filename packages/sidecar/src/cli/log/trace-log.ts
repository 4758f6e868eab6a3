import type { TracedRequest } from '../../foundation/observer.ts';
import type { LogLines } from './limited-log.ts';

/** A request that took as long as this is worth a line, in milliseconds. */
export const DEFAULT_SLOW_REQUEST_MS = 500;

/**
 * Writes which requests failed or took `slowRequestMs`, with the id of the trace that their caller said they belong to, so that
 * one can be found from the other. Others are not written at all.
 */
export function traceLog(
	log: LogLines,
	slowRequestMs: number = DEFAULT_SLOW_REQUEST_MS,
): (request: TracedRequest) => void {
	return ({ connection, func, code, durationMs, traceId, traceparent }) => {
		const isSlow = durationMs >= slowRequestMs;
		if (code === 'ok' && !isSlow) return;
		const facts = { connection, func, code, durationMs: Math.round(durationMs), traceId, traceparent };
		const what = code === 'ok' ? 'was slow' : code === 'cancelled' ? 'was given up by its caller' : `failed: ${code}`;
		log.warn(facts, `a request ${what}`);
	};
}
