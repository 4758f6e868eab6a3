// Written from docs/PROTOCOL.md ("Messages", "Bad input") and not from the code that it judges.

type Members = Readonly<Record<string, unknown>>;

/** The trace of a request. */
export interface ExpectedTrace {
	readonly traceparent: string;
	readonly tracestate: string | undefined;
}

/** What one frame means; `path` names the member of a BAD_REQUEST. */
export type ExpectedMessage =
	| {
			readonly kind: 'request';
			readonly id: number;
			readonly func: string;
			readonly data: unknown;
			readonly timeoutMs: unknown;
			readonly trace: ExpectedTrace | undefined;
	  }
	| { readonly kind: 'notice'; readonly func: string; readonly data: unknown }
	| { readonly kind: 'reply'; readonly id: number; readonly data: unknown }
	| { readonly kind: 'failure'; readonly id: number | null; readonly error: unknown }
	| { readonly kind: 'push'; readonly event: string; readonly data: unknown }
	| { readonly kind: 'fault'; readonly id: number | null; readonly code: string; readonly path?: string };

const DEPTH_MAX = 128;

/** Never answered, where the sidecar takes events. */
const NOTICES: ReadonlySet<unknown> = new Set(['cancel', 'uplink', 'event', 'ack', 'nack', 'term', 'extend']);

/** What a sidecar reads in a frame. */
export function expectClientMessage(text: string): ExpectedMessage {
	return expectRequest(jsonObject(text));
}

/** What a client reads in a frame. */
export function expectSidecarMessage(text: string): ExpectedMessage {
	return expectReply(jsonObject(text));
}

/** What each side reads in a frame that is parsed once for both. */
export function expectMessages(text: string): { bySidecar: ExpectedMessage; byClient: ExpectedMessage } {
	const members = jsonObject(text);
	return { bySidecar: expectRequest(members), byClient: expectReply(members) };
}

function expectRequest(members: Members | undefined): ExpectedMessage {
	if (members === undefined) return { kind: 'fault', id: null, code: 'BAD_FRAME' };
	const { id, func, data, timeoutMs, traceparent, tracestate } = members;
	if (id === undefined && NOTICES.has(func)) return { kind: 'notice', func: func as string, data: data ?? null };
	if (!isWhole(id, 0, 4294967295)) return badRequest(null, 'id');
	const whole = id === 0 ? 0 : id;
	if (typeof func !== 'string' || func.length < 1 || func.length > 64) return badRequest(whole, 'func');
	if (timeoutMs !== undefined && !isWhole(timeoutMs, 1, 2147483647)) return badRequest(whole, 'timeoutMs');
	const trace = expectTrace(traceparent, tracestate);
	return { kind: 'request', id: whole, func, data: data ?? null, timeoutMs, trace };
}

/** `00`, two ids that are not all zeros, and flags, in small hexadecimal digits; whatever is bad is as if it were not there. */
function expectTrace(traceparent: unknown, tracestate: unknown): ExpectedTrace | undefined {
	if (typeof traceparent !== 'string') return undefined;
	const parts = traceparent.split('-');
	const isHex = (part: string | undefined, length: number): boolean =>
		part?.length === length && [...part].every((digit) => '0123456789abcdef'.includes(digit));
	const [version, traceId = '', spanId = '', flags] = parts;
	if (parts.length !== 4 || version !== '00' || !isHex(flags, 2)) return undefined;
	if (!isHex(traceId, 32) || !isHex(spanId, 16)) return undefined;
	if (BigInt(`0x${traceId}`) === 0n || BigInt(`0x${spanId}`) === 0n) return undefined;
	const isGood =
		typeof tracestate === 'string' &&
		tracestate.length >= 1 &&
		tracestate.length <= 512 &&
		[...tracestate].every((character) => character >= ' ' && character <= '~');
	return { traceparent, tracestate: isGood ? tracestate : undefined };
}

function expectReply(members: Members | undefined): ExpectedMessage {
	if (members === undefined) return { kind: 'fault', id: null, code: 'BAD_FRAME' };
	const { id, error, event, data } = members;
	if (id === undefined && typeof event === 'string' && event !== '') return { kind: 'push', event, data: data ?? null };
	const isKnown = isWhole(id, 0, 4294967295);
	const whole = id === 0 ? 0 : (id as number);
	if (error !== undefined && error !== null && (isKnown || id === null)) {
		return { kind: 'failure', id: id === null ? null : whole, error };
	}
	return isKnown ? { kind: 'reply', id: whole, data: data ?? null } : badRequest(null, 'id');
}

function badRequest(id: number | null, path: string): ExpectedMessage {
	return { kind: 'fault', id, code: 'BAD_REQUEST', path };
}

/** The members of a frame that is one JSON object and not nested too deep. */
function jsonObject(text: string): Members | undefined {
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch {
		return undefined;
	}
	if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
	return text.length > DEPTH_MAX && depthOf(text) > DEPTH_MAX ? undefined : (value as Members);
}

/** The deepest level in the text of a JSON value: also one that is nobody's, because a later member of its name won. */
function depthOf(text: string): number {
	let depth = 0;
	let deepest = 0;
	for (const [bracket] of text.replace(/"(?:[^"\\]|\\[\s\S])*"/g, '').matchAll(/[[{\]}]/g)) {
		depth += bracket === '[' || bracket === '{' ? 1 : -1;
		deepest = Math.max(deepest, depth);
	}
	return deepest;
}

/** True for a whole number in a range. */
export function isWhole(value: unknown, min: number, max: number): value is number {
	return typeof value === 'number' && Math.floor(value) === value && value >= min && value <= max;
}
