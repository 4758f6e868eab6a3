import type { AnyDispatch, Dispatch } from './any-undici.ts';
import { Origins } from './origins.ts';
import { listenFor } from './request-events.ts';
import { checkOptions, ServiceDispatch, type ServiceOptions } from './service-dispatch.ts';

/** What `compose` of undici takes. */
export interface SpockInterceptor extends Disposable {
	<D extends AnyDispatch>(dispatch: D): D;
	/**
	 * Listens no more to what undici publishes, once the requests that are under way have ended; later ones are sent, but
	 * what becomes of them is not reported. By itself when its Diplomat has ended. Idempotent. Also `Symbol.dispose`.
	 */
	close(): void;
}

/**
 * An interceptor for undici 6, 7 and 8: requests to `http://barista.spock/…` go to an instance of `barista`, each to one of
 * its own, and how it ends is reported; others are left alone. It stands before `interceptors.retry()`, so that each retry
 * picks again and leaves out the instances where the request has failed:
 *
 *     const agent = new Agent().compose(spockInterceptor({ diplomat }), interceptors.retry());
 *
 * Where an instance cannot be connected to, nothing was sent, and another one gets the request: `connectRetriesMax` more at most.
 * It listens on undici's diagnostics channels from now until it is closed, or its Diplomat is.
 *
 * Where no instance is known the request fails with the SpockError of `diplomat.acquire`, and with BAD_REQUEST for a host
 * such as `a.b.spock`. Errors of the connection are undici's own; their message, `service` and `instance` say where.
 * Throws a TypeError or BAD_REQUEST for wrong options.
 */
export function spockInterceptor(options: ServiceOptions): SpockInterceptor {
	checkOptions('spockInterceptor', options);
	const origins = new Origins(options);
	const unlisten = listenFor(options.diplomat);
	const intercept = (dispatch: Dispatch): Dispatch => {
		const services = new ServiceDispatch(options, origins, { toInstance: () => dispatch, elsewhere: dispatch });
		return (request, handler) => services.dispatch(request, handler);
	};
	return Object.assign(intercept as unknown as SpockInterceptor, { close: unlisten, [Symbol.dispose]: unlisten });
}
