import type { CallOutcome } from '@spock/balancer';
import { type ServiceAddress, type ServiceQuery, SpockError } from '@spock/protocol';
import { causesOf, isError, messageOf } from '@spock/protocol/internal';
import { formatAddress } from '@spock/protocol/node';

/** Of node:net, of undici (https://undici.nodejs.org/#/docs/api/Errors), and of ioredis and pg, which give no codes. */
const CONNECTION_CODES: ReadonlySet<unknown> = new Set([
	'ECONNREFUSED',
	'ECONNRESET',
	'ECONNABORTED',
	'EPIPE',
	'ETIMEDOUT',
	'EHOSTUNREACH',
	'EHOSTDOWN',
	'ENETUNREACH',
	'ENETDOWN',
	'ENOENT',
	'ENOTFOUND',
	'EAI_AGAIN',
	'UND_ERR_SOCKET',
	'UND_ERR_CONNECT_TIMEOUT',
	'UND_ERR_HEADERS_TIMEOUT',
	'UND_ERR_BODY_TIMEOUT',
]);

/**
 * What the error of a call means for the instance: nothing when its caller aborted the call (`cancelled`). Running out of
 * time is a failure, also where an `AbortSignal.timeout` did it.
 */
export function outcomeOf(error: unknown): CallOutcome {
	const all = causesOf(error);
	if (all.some(({ name, code }) => name === 'TimeoutError' || code === 'TIMEOUT')) return 'failure';
	const isAbort = all.some(({ name, code }) => name === 'AbortError' || code === 'ABORTED' || code === 'ABORT_ERR');
	return isAbort ? 'cancelled' : 'failure';
}

/** True for an error after which another instance may do better: it was not reached, hung up, or took too long. */
export function isConnectionError(error: unknown): boolean {
	return causesOf(error).some((one) => {
		if (isError(one) && SpockError.is(one)) return one.retryable;
		return CONNECTION_CODES.has(one.code) || one.name === 'TimeoutError';
	});
}

/** The error of a lookup, which names the service: that of an absent sidecar does not. */
export function serviceError({ service }: ServiceQuery, error: unknown): SpockError {
	const known = SpockError.from(error);
	// Every message of ours that names a service has it in quotes; `sidecar` alone may be the name of one, or not.
	if (known.details['service'] === service && known.message.includes(JSON.stringify(service))) return known;
	const { code, retryable } = known;
	const details = { ...known.details, service };
	return new SpockError(code, `the service ${JSON.stringify(service)}: ${known.message}`, {
		cause: known,
		details,
		retryable,
	});
}

/** UNAVAILABLE: an instance that could not be called. The details have the service, the instance, its host and port. */
export function instanceError({ service }: ServiceQuery, address: ServiceAddress, cause: unknown): SpockError {
	const { instance, host, port } = address;
	// `fetch failed` is what fetch says; why stands in the innermost cause.
	const all = causesOf(cause);
	const several = all.find(({ errors }) => Array.isArray(errors));
	const why = messageOf(
		several ?? all.findLast(({ message }) => typeof message === 'string' && message !== '') ?? cause,
	);
	const place = `the instance ${JSON.stringify(instance)} (${formatAddress({ host, port })}) of ${JSON.stringify(service)}`;
	return new SpockError('UNAVAILABLE', `${place}: ${why}`, { cause, details: { service, instance, host, port } });
}
