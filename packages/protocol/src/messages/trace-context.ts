import { TRACE_STATE_LENGTH_MAX } from '../foundation/limits.ts';

// The trace that a request belongs to, as W3C Trace Context writes it: https://www.w3.org/TR/trace-context/

/** The trace of a request: where in it the request was made, and what tracing systems say besides. */
export interface TraceContext {
	/** `00-<trace id>-<id of the caller's span>-<flags>`, in hexadecimal: 55 characters. */
	readonly traceparent: string;
	/** The caller's `tracestate`; undefined without one. */
	readonly tracestate: string | undefined;
}

const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const TRACEPARENT_LENGTH = 55;
const TRACE_ID_AT = 3;
const TRACE_ID_LENGTH = 32;
const PRINTABLE = /^[\x20-\x7e]+$/;
const PARENT_MEMBER = ',"traceparent":"';
const STATE_MEMBER = ',"tracestate":"';
const MEMBER_END = '"';

/**
 * The trace of a request's two members; undefined if `traceparent` is not a good one. As W3C has it, a bad one is ignored and
 * never a reason to refuse what it came with, and so is a bad `tracestate`.
 */
export function readTraceContext(traceparent: unknown, tracestate: unknown): TraceContext | undefined {
	if (typeof traceparent !== 'string' || traceparent.length !== TRACEPARENT_LENGTH) return undefined;
	if (!TRACEPARENT.test(traceparent)) return undefined;
	const isGood =
		typeof tracestate === 'string' && tracestate.length <= TRACE_STATE_LENGTH_MAX && PRINTABLE.test(tracestate);
	return { traceparent, tracestate: isGood ? tracestate : undefined };
}

/** The id of the whole trace, by which people find it. */
export function traceIdOf({ traceparent }: TraceContext): string {
	return traceparent.slice(TRACE_ID_AT, TRACE_ID_AT + TRACE_ID_LENGTH);
}

/** The members of a trace, to stand between the id of a request and the tail of `encodeRequestTail`. */
export function encodeTrace({ traceparent, tracestate }: TraceContext): string {
	const state = tracestate === undefined ? '' : `,"tracestate":${JSON.stringify(tracestate)}`;
	return `${PARENT_MEMBER}${traceparent}${MEMBER_END}${state}`;
}

/**
 * What stands behind the id of a request, if it begins as {@link encodeTrace} writes it: the trace, and the text without it,
 * which is the same for every caller that asks the same. Undefined for any other, which may have a trace all the same.
 */
export function splitTrace(rest: string): { readonly trace: TraceContext; readonly rest: string } | undefined {
	if (!rest.startsWith(PARENT_MEMBER)) return undefined;
	const parentEnd = PARENT_MEMBER.length + TRACEPARENT_LENGTH;
	const traceparent = rest.slice(PARENT_MEMBER.length, parentEnd);
	if (!TRACEPARENT.test(traceparent) || rest[parentEnd] !== MEMBER_END) return undefined;
	const behind = parentEnd + 1;
	if (!rest.startsWith(STATE_MEMBER, behind))
		return { trace: { traceparent, tracestate: undefined }, rest: rest.slice(behind) };
	const stateEnd = rest.indexOf(MEMBER_END, behind + STATE_MEMBER.length);
	const tracestate = rest.slice(behind + STATE_MEMBER.length, stateEnd);
	// With an escape in it the text is not the value: who parses the frame sees that.
	if (stateEnd === -1 || tracestate.includes('\\')) return undefined;
	const trace = readTraceContext(traceparent, tracestate);
	return trace && { trace, rest: rest.slice(stateEnd + 1) };
}
