import { type Clock, systemClock } from '@spock/protocol/internal';
import type { Logger } from 'pino';

import type { TracedRequest } from '../sidecar-observer.ts';

/** A request that took as long as this is worth a line, in milliseconds. */
export const DEFAULT_SLOW_REQUEST_MS = 500;
/** Lines in one second: an outage fails every request, and the log must not become its second victim. */
const LINES_PER_SECOND_MAX = 10;
const SECOND_MS = 1000;

/** What the log of traced requests takes. */
export interface TraceLogOptions {
	/** Default 500. */
	readonly slowRequestMs?: number | undefined;
	readonly clock?: Clock;
}

/**
 * Writes which requests failed or were slow, with the id of the trace that their caller said they belong to, so that one can be
 * found from the other. Others are not written at all. At most ten lines in a second; the next one says how many were left out.
 */
export function traceLog(log: Logger, options: TraceLogOptions = {}): (request: TracedRequest) => void {
	const { slowRequestMs = DEFAULT_SLOW_REQUEST_MS, clock = systemClock } = options;
	let secondMs = Number.NEGATIVE_INFINITY;
	let lines = 0;
	let leftOut = 0;
	return ({ connection, func, code, durationMs, traceId, traceparent }) => {
		const isSlow = durationMs >= slowRequestMs;
		if (code === 'ok' && !isSlow) return;
		const nowMs = clock.now();
		if (nowMs - secondMs >= SECOND_MS) {
			secondMs = nowMs;
			lines = 0;
		}
		if (++lines > LINES_PER_SECOND_MAX) {
			leftOut++;
			return;
		}
		const facts = { connection, func, code, durationMs: Math.round(durationMs), traceId, traceparent };
		const what = code === 'ok' ? 'was slow' : code === 'cancelled' ? 'was given up by its caller' : `failed: ${code}`;
		log.warn({ ...facts, ...(leftOut > 0 && { leftOut }) }, `a request ${what}`);
		leftOut = 0;
	};
}
