import { INSPECT, isObject, show, stringOrNull } from '../foundation/values.ts';
import { type ErrorCode, errorHelp, isWireErrorCode, retryableByCode, type WireErrorCode } from './error-code.ts';

/** The error member of a failure on the wire. */
export interface WireError {
	readonly code: string;
	readonly message: string;
	readonly retryable: boolean;
	readonly details: Readonly<Record<string, unknown>>;
}

/** What a {@link SpockError} may carry besides its code and message. */
export interface SpockErrorOptions {
	/** Facts for programs: names, limits, paths. Default `{}`. */
	readonly details?: Readonly<Record<string, unknown>>;
	/** The error that led to this one; always kept. */
	readonly cause?: unknown;
	/** Overrides what the code table says; used for what came over the wire. */
	readonly retryable?: boolean;
	/**
	 * True for one that is made in answer to what came over a socket: its stack would only tell of the socket, and taking it costs
	 * more than all the rest. Default false.
	 */
	readonly isStackless?: boolean;
}

/** The details of a {@link SpockError}: facts for programs, and for people where to read on. */
export interface ErrorDetails extends Readonly<Record<string, unknown>> {
	/**
	 * The section of the documentation about the code, such as
	 * `node_modules/@spock/client/docs/reference/errors.md#no_such_service`. Inherited: consoles show
	 * it, and JSON leaves it out, so that it neither travels nor fills a log.
	 */
	readonly help: string;
}

/** What the details of the errors of each code inherit. Made when a code is first used, so that an error costs nothing for its help. */
const inherited: Partial<Record<ErrorCode, object>> = {};

function inheritedOf(code: ErrorCode): object {
	const help = errorHelp(code);
	return {
		help,
		[INSPECT](this: object) {
			return { ...this, help };
		},
	};
}

// Branded by a registered symbol and not by class identity: two copies of this package in one process still know each
// other's errors.
const BRAND = Symbol.for('@spock/error');

/**
 * The one error class of Spock and Diplomat. `code` is from the closed set {@link ErrorCode}; `retryable` says
 * whether the same call may succeed later; `details` holds facts for programs, and in `help` where to read on; `cause` is kept.
 */
export class SpockError extends Error {
	static {
		// Bundlers rename classes that speak of themselves (`_SpockError`), and minifiers all.
		Object.defineProperty(SpockError, 'name', { value: 'SpockError' });
	}

	readonly code: ErrorCode;
	readonly retryable: boolean;
	readonly details: ErrorDetails;

	constructor(code: ErrorCode, message: string, options: SpockErrorOptions = {}) {
		const { stackTraceLimit } = Error;
		// Where a process has frozen Error the stack is taken all the same.
		const isLimited = options.isStackless === true && Reflect.set(Error, 'stackTraceLimit', 0);
		super(message, options.cause === undefined ? undefined : { cause: options.cause });
		if (isLimited) Error.stackTraceLimit = stackTraceLimit;
		this.code = code;
		this.retryable = options.retryable ?? retryableByCode[code];
		// Spread, and not assigned: what comes over the wire may have members of any name.
		inherited[code] ??= inheritedOf(code);
		this.details = Object.freeze({ __proto__: inherited[code], ...options.details } as unknown as ErrorDetails);
	}

	/** True for a SpockError of any copy of this package; with `code`, only for that code. */
	static is(value: unknown, code?: ErrorCode): value is SpockError {
		if (typeof value !== 'object' || value === null || !(BRAND in value)) return false;
		return code === undefined || (value as unknown as SpockError).code === code;
	}

	/**
	 * The error itself if it is a SpockError, otherwise an INTERNAL error that keeps it as its cause. The message of the
	 * cause is not repeated, because this error may travel to another process.
	 */
	static from(value: unknown): SpockError {
		return SpockError.is(value) ? value : new SpockError('INTERNAL', 'an internal fault', { cause: value });
	}

	/**
	 * Reads the error member of a failure. Unknown codes (of a newer sidecar) become INTERNAL, with the code in the
	 * details; missing members get the defaults of the code table.
	 */
	static fromWire(wire: unknown): SpockError {
		const { code, message, retryable, details } = isObject(wire) ? wire : {};
		const isKnown = isWireErrorCode(code);
		const facts = isObject(details) ? details : {};
		return new SpockError(
			isKnown ? code : 'INTERNAL',
			typeof message === 'string' ? message : 'the sidecar sent no message',
			{
				details: isKnown ? facts : { ...facts, code: stringOrNull(code) },
				retryable: typeof retryable === 'boolean' ? retryable : isKnown && retryableByCode[code],
				isStackless: true,
			},
		);
	}

	/** The error member of a failure. A code that is local to a client becomes INTERNAL. */
	toWire(): WireError {
		const code: WireErrorCode = isWireErrorCode(this.code) ? this.code : 'INTERNAL';
		return { code, message: this.message, retryable: this.retryable, details: this.details };
	}
}

/** As {@link badMember}, and the message shows the value, which must not be a secret. */
export function badValue(path: string, sentence: string, value: unknown): SpockError {
	return badMember(path, `${sentence}, not ${show(value)}`);
}

/** BAD_REQUEST for a member of a request's data; `details.path` names it, "" for the data itself. */
export function badMember(path: string, sentence: string): SpockError {
	return new SpockError('BAD_REQUEST', `${path === '' ? 'data' : `data.${path}`} ${sentence}`, { details: { path } });
}

Object.defineProperties(SpockError.prototype, {
	[BRAND]: { value: true },
	// As in the errors of JavaScript: apps and libraries may set one of their own.
	name: { value: 'SpockError', writable: true, configurable: true },
});
