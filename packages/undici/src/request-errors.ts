import type { CallOutcome, ServiceAddress, ServiceQuery } from '@spock/client';
import { instanceError, outcomeOf } from '@spock/client/integrations';

/** Errors of undici that the caller has brought about (https://undici.nodejs.org/#/docs/api/Errors). */
const CALLERS_CODES: ReadonlySet<unknown> = new Set([
	'UND_ERR_ABORTED',
	'UND_ERR_DESTROYED',
	'UND_ERR_CLOSED',
	'UND_ERR_INVALID_ARG',
	'UND_ERR_NOT_SUPPORTED',
	'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
]);

/** What OpenSSL says of an answer in plain text, with one code or another (ERR_SSL_WRONG_VERSION_NUMBER, EPROTO). */
const NO_TLS = /wrong version number|packet length too long/i;

/**
 * What the error of a request says of the instance. An error that has no code is none of undici or Node: it is a reason to
 * abort that the caller made, or came out of the caller's own handler or body. A caller's time-out is a failure.
 */
export function outcomeOfRequest(error: unknown): CallOutcome {
	if (outcomeOf(error) === 'cancelled') return 'cancelled';
	const { name, code } = (error ?? {}) as { readonly name?: unknown; readonly code?: unknown };
	if (name === 'TimeoutError' || name === 'HTTPParserError') return 'failure';
	return typeof code === 'string' && !CALLERS_CODES.has(code) ? 'failure' : 'cancelled';
}

/**
 * Makes an error of undici or Node say which instance of which service it is about: in its message, in `service` and
 * `instance`, and in a SpockError as its cause if it has none. Its class and code stay, because undici's retry looks at
 * them. What the caller made, such as the reason of an abort, is left alone.
 */
export function nameInstance(error: unknown, query: ServiceQuery, address: ServiceAddress): void {
	if (!(error instanceof Error) || error instanceof DOMException || !Object.isExtensible(error)) return;
	// One error of a connection ends every request on it.
	if (Object.hasOwn(error, 'service')) return;
	const { message, stack } = error;
	// Where every address of a name failed, Node's message is empty.
	const told = message === '' ? String((error as { readonly code?: unknown }).code) : message;
	const why = NO_TLS.test(told) ? `it does not speak TLS: ${told}` : told;
	const named = instanceError(query, address, why);
	define(error, 'service', query.service, true);
	define(error, 'instance', address.instance, true);
	define(error, 'message', named.message, false);
	if (error.cause === undefined) define(error, 'cause', named, false);
	// The stack holds the message as it was when the error was made, and is what is printed.
	if (typeof stack === 'string' && message !== '') {
		define(
			error,
			'stack',
			stack.replace(message, () => named.message),
			false,
		);
	}
}

function define(error: Error, key: string, value: unknown, enumerable: boolean): void {
	Reflect.defineProperty(error, key, { value, enumerable, writable: true, configurable: true });
}
