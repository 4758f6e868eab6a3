import { InterceptingCall, type Interceptor, status } from '@grpc/grpc-js';

/** With these it is mostly the channel that speaks, and not the service. */
const OF_THE_CHANNEL: ReadonlySet<number> = new Set([status.DEADLINE_EXCEEDED, status.UNAVAILABLE]);

/**
 * For the option `interceptors` of a client: the details of DEADLINE_EXCEEDED and UNAVAILABLE name the service. grpc-js makes
 * the former where no resolver can say a word.
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
