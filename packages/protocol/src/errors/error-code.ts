import { DOCUMENTATION } from '../foundation/documentation.ts';

/**
 * The codes that travel in failures, and whether trying again can help. What each means stands apart, in {@link errorCodes}, so that
 * the bundle of a program which only makes errors leaves the prose out.
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

/**
 * The section of the documentation about a code, with its causes and what to do, such as
 * `node_modules/@spock/client/docs/reference/errors.md#no_such_service`.
 */
export function errorHelp(code: ErrorCode): string {
	return `${DOCUMENTATION}/reference/errors.md#${code.toLowerCase()}`;
}

/** What is known of one code. */
export interface ErrorCodeFacts {
	/** True when the code may travel in a failure. */
	readonly wire: boolean;
	/** True when the same call may succeed later. */
	readonly retryable: boolean;
	/** One sentence for people. */
	readonly meaning: string;
}

const MEANINGS: Readonly<Record<ErrorCode, string>> = {
	BAD_FRAME: 'a line was not one JSON object in valid UTF-8',
	BAD_REQUEST: 'the request or its data has the wrong shape',
	FRAME_TOO_LARGE: 'a frame is longer than frameBytesMax',
	UNKNOWN_FUNC: 'the sidecar has no function of that name, or its registry cannot do it',
	UNSUPPORTED_VERSION: 'no protocol version in common',
	NO_SUCH_SERVICE: 'the registry knows no instance of the service',
	NO_HEALTHY_INSTANCE: 'the service has instances, none of them healthy',
	ACL_DENIED: 'the registry refuses its token, or the sidecar that of the client',
	NOT_READY: 'the backend has not given a first answer yet',
	UNAVAILABLE: 'the backend is out of reach and nothing young enough is known',
	OVERLOADED: 'a limit on work in flight is reached',
	INTERNAL: 'a fault inside the sidecar',
	TIMEOUT: 'the deadline of the call passed',
	ABORTED: 'the caller aborted the call',
	DISCONNECTED: 'the connection was lost, or there is none',
	CLOSED: 'the client was closed or is draining',
	PROTOCOL: 'the peer broke the protocol',
	NO_SUCH_KEY: 'the registry has no such key',
	BAD_VALUE: 'the value of a key is not what its reader accepts',
};

/** The code table, frozen. Marked as pure, so that a bundle that does not read it leaves it out. */
export const errorCodes: Readonly<Record<ErrorCode, ErrorCodeFacts>> = /* @__PURE__ */ makeTable();

function makeTable(): Readonly<Record<ErrorCode, ErrorCodeFacts>> {
	const codes = Object.keys(retryableByCode) as ErrorCode[];
	const rows = codes.map((code) => {
		return [code, { wire: isWireErrorCode(code), retryable: retryableByCode[code], meaning: MEANINGS[code] }] as const;
	});
	return Object.freeze(Object.fromEntries(rows)) as Record<ErrorCode, ErrorCodeFacts>;
}
