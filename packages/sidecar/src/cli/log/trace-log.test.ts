import { expect, it } from 'vitest';

import type { TracedRequest } from '../../foundation/observer.ts';
import { traceLog } from './connection-log.ts';
import type { LogLines } from './limited-log.ts';

function traced(members: Partial<TracedRequest> = {}): TracedRequest {
	const traceId = 'a'.repeat(32);
	const traceparent = `00-${traceId}-${'b'.repeat(16)}-01`;
	const ended = { connection: 1, func: 'getService', code: 'ok', durationMs: 0.1 };
	return { ...ended, traceId, traceparent, tracestate: 'never=written', ...members };
}

function logging(slowRequestMs = 500) {
	const lines: [facts: Record<string, unknown>, message: string][] = [];
	const log = { warn: (facts: Record<string, unknown>, message: string) => lines.push([facts, message]) };
	return { lines, tell: traceLog(log as unknown as LogLines, slowRequestMs) };
}

it('writes what failed, what was given up and what was slow, each with its trace, and nothing else', () => {
	const { lines, tell } = logging();
	tell(traced({ durationMs: 499 }));
	tell(traced({ durationMs: 500.4 }));
	tell(traced({ code: 'UNAVAILABLE' }));
	tell(traced({ code: 'cancelled', durationMs: 5000 }));
	expect(lines.map(([, message]) => message)).toEqual(['slow request', 'request failed', 'request cancelled']);
	const { tracestate: _, ...facts } = traced({ durationMs: 500 });
	expect(lines[0]?.[0]).toEqual(facts);
});

it('takes another time for slow', () => {
	const { lines, tell } = logging(100);
	tell(traced({ durationMs: 100 }));
	tell(traced({ durationMs: 99 }));
	expect(lines).toHaveLength(1);
});
