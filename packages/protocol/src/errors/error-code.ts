/**
 * The codes that travel in failures, and whether trying again can help. What each means for people stands in
 * error-code-facts.ts, so that a program which only makes errors does not carry the prose.
 */
const WIRE_CODES = {
	BAD_FRAME: false,
	BAD_REQUEST: false,
	FRAME_TOO_LARGE: false,
	UNKNOWN_FUNC: false,
	UNSUPPORTED_VERSION: false,
	NO_SUCH_SERVICE: false,
	NO_HEALTHY_INSTANCE: true,
	ACL_DENIED: false,
	NOT_READY: true,
	UNAVAILABLE: true,
	OVERLOADED: true,
	INTERNAL: true,
} as const;

/** The codes that are local to a client and never leave it, and whether trying again can help. */
const LOCAL_CODES = {
	TIMEOUT: true,
	ABORTED: false,
	DISCONNECTED: true,
	CLOSED: false,
	PROTOCOL: false,
	NO_SUCH_KEY: false,
	BAD_VALUE: false,
} as const;

/** The codes that may travel in a failure. */
export type WireErrorCode = keyof typeof WIRE_CODES;

/** Every error code, as in the table of docs/PROTOCOL.md. */
export type ErrorCode = WireErrorCode | keyof typeof LOCAL_CODES;

/** The closed set of error codes: true when the same call may succeed later. */
export const retryableByCode: Readonly<Record<ErrorCode, boolean>> = { ...WIRE_CODES, ...LOCAL_CODES };

/** True for a string that is one of the codes which may travel in a failure. */
export function isWireErrorCode(code: unknown): code is WireErrorCode {
	return typeof code === 'string' && Object.hasOwn(WIRE_CODES, code);
}
