/**
 * The closed set of error codes, what each means, and whether trying again can help.
 * `wire` codes travel in failures; the others are local to a client and never leave it.
 */
const ERROR_CODES = {
	BAD_FRAME: { wire: true, retryable: false, meaning: 'a line was not one JSON object in valid UTF-8' },
	BAD_REQUEST: { wire: true, retryable: false, meaning: 'the request or its data has the wrong shape' },
	FRAME_TOO_LARGE: { wire: true, retryable: false, meaning: 'a frame is longer than frameBytesMax' },
	UNKNOWN_FUNC: { wire: true, retryable: false, meaning: 'the sidecar has no function of that name' },
	UNSUPPORTED_VERSION: { wire: true, retryable: false, meaning: 'no protocol version in common' },
	NO_SUCH_SERVICE: { wire: true, retryable: false, meaning: 'the registry knows no instance of the service' },
	NO_HEALTHY_INSTANCE: { wire: true, retryable: true, meaning: 'the service has instances, none of them healthy' },
	ACL_DENIED: { wire: true, retryable: false, meaning: 'the registry refuses to answer with this token' },
	NOT_READY: { wire: true, retryable: true, meaning: 'the backend has not given a first answer yet' },
	UNAVAILABLE: {
		wire: true,
		retryable: true,
		meaning: 'the backend is out of reach and nothing young enough is known',
	},
	OVERLOADED: { wire: true, retryable: true, meaning: 'a limit on work in flight is reached' },
	INTERNAL: { wire: true, retryable: true, meaning: 'a fault inside the sidecar' },
	TIMEOUT: { wire: false, retryable: true, meaning: 'the deadline of the call passed' },
	ABORTED: { wire: false, retryable: false, meaning: 'the caller aborted the call' },
	DISCONNECTED: { wire: false, retryable: true, meaning: 'the connection was lost, or there is none' },
	CLOSED: { wire: false, retryable: false, meaning: 'the client was closed or is draining' },
	PROTOCOL: { wire: false, retryable: false, meaning: 'the peer broke the protocol' },
} as const;

/** Every error code, as in the table of docs/PROTOCOL.md. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** The codes that may travel in a failure. */
export type WireErrorCode = {
	[C in ErrorCode]: (typeof ERROR_CODES)[C]['wire'] extends true ? C : never;
}[ErrorCode];

/** What is known of one code. */
export interface ErrorCodeFacts {
	/** True when the code may travel in a failure. */
	readonly wire: boolean;
	/** True when the same call may succeed later. */
	readonly retryable: boolean;
	/** One sentence for people. */
	readonly meaning: string;
}

/** The code table, frozen. */
export const errorCodes: Readonly<Record<ErrorCode, ErrorCodeFacts>> = Object.freeze(ERROR_CODES);

/** True for a string that is one of the codes which may travel in a failure. */
export function isWireErrorCode(code: unknown): code is WireErrorCode {
	return typeof code === 'string' && Object.hasOwn(ERROR_CODES, code) && ERROR_CODES[code as ErrorCode].wire;
}
