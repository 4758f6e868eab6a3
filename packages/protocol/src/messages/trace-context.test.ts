import { describe, expect, it } from 'vitest';

import { encodeRequest, encodeRequestTail } from '../frames/frame-encoder.ts';
import { readClientMessage } from './message.ts';
import { encodeTrace, splitTrace, type TraceContext, traceIdOf } from './trace-context.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
const tail = encodeRequestTail('ping', '7', 250);

describe('the trace of a request', () => {
	it.each<[string, TraceContext]>([
		['alone', { traceparent, tracestate: undefined }],
		['with a state', { traceparent, tracestate: 'spock=1,vendor=x y' }],
	])('is split off again, %s, and what is left is the same for every caller', (_, trace) => {
		const rest = encodeTrace(trace) + tail;
		expect(splitTrace(rest)).toEqual({ trace, rest: tail });
		expect(readClientMessage(encodeRequest(1, rest).trimEnd())).toMatchObject({
			kind: 'request',
			timeoutMs: 250,
			trace,
		});
	});

	it('is not split off where its text is not its value, nor where there is none: who parses the frame reads it', () => {
		const trace = { traceparent, tracestate: 'a="b"' };
		const rest = encodeTrace(trace) + tail;
		expect(splitTrace(rest)).toBeUndefined();
		expect(readClientMessage(encodeRequest(1, rest).trimEnd())).toMatchObject({ trace });
		expect(splitTrace(tail)).toBeUndefined();
	});

	it.each([
		['cut off', ',"traceparent":"00-'],
		['bad', `,"traceparent":"${traceparent.toUpperCase()}"${tail}`],
		['too long', `,"traceparent":"${traceparent}0"${tail}`],
		['with a state without an end', `,"traceparent":"${traceparent}","tracestate":"a=1`],
	])('is not split off when it is %s', (_, rest) => {
		expect(splitTrace(rest)).toBeUndefined();
	});

	it('that has a bad state is split off without it', () => {
		const rest = `,"traceparent":"${traceparent}","tracestate":"${'x'.repeat(513)}"${tail}`;
		expect(splitTrace(rest)).toEqual({ trace: { traceparent, tracestate: undefined }, rest: tail });
	});

	it('has an id by which people find it', () => {
		expect(traceIdOf({ traceparent, tracestate: undefined })).toBe(traceId);
	});
});
