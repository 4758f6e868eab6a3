import { InterceptingCall, type Interceptor, status } from '@grpc/grpc-js';
import type { CallOutcome } from '@spock/client';
import { isError } from '@spock/protocol/internal';

/**
 * With these the instance did not do its work: it, or the way to it, is at fault. Every other status is an answer that a
 * healthy instance gives to a bad question.
 * Source: https://grpc.io/docs/guides/status-codes/
 */
const FAILURES: ReadonlySet<number> = new Set([
	status.UNKNOWN,
	status.DEADLINE_EXCEEDED,
	status.RESOURCE_EXHAUSTED,
	status.INTERNAL,
	status.UNAVAILABLE,
	status.DATA_LOSS,
]);

/** What the status of a call says of the instance that it went to. */
export function callOutcome(code: number): CallOutcome {
	if (code === status.CANCELLED) return 'cancelled';
	return FAILURES.has(code) ? 'failure' : 'success';
}

/** An error of grpc-js, of whichever copy. */
export function isServiceError(error: unknown): error is Error & { readonly code: number; readonly details: string } {
	return isError(error) && typeof (error as { code?: unknown }).code === 'number';
}

/** With these it is mostly the channel that speaks, and not the service. */
const OF_THE_CHANNEL: ReadonlySet<number> = new Set([status.DEADLINE_EXCEEDED, status.UNAVAILABLE]);

/**
 * For the option `interceptors` of a client: the details of DEADLINE_EXCEEDED and UNAVAILABLE name the service. grpc-js makes
 * the former where no resolver can name the service.
 */
export function nameService(service: string): Interceptor {
	const prefix = `the service ${JSON.stringify(service)}: `;
	return (options, nextCall) =>
		new InterceptingCall(nextCall(options), {
			start: (metadata, _listener, next) => {
				next(metadata, {
					onReceiveStatus: (received, pass) => {
						const { code, details } = received;
						const isNamed = !OF_THE_CHANNEL.has(code) || details.includes(JSON.stringify(service));
						pass(isNamed ? received : { ...received, details: prefix + details });
					},
				});
			},
		});
}
