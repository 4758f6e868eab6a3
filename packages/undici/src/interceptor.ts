import { Origins } from './origins.ts';
import { listen } from './request-events.ts';
import { ServiceDispatch, type ServiceOptions } from './service-dispatch.ts';
import type { AnyDispatch, Dispatch } from './undici-types.ts';

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
 * It never wraps a handler: it listens on undici's diagnostics channels from now until it is closed, or its Diplomat is.
 *
 * Where no instance is known the request fails with the SpockError of `diplomat.acquire`, and with BAD_REQUEST for a host
 * such as `a.b.spock`. Errors of the connection are undici's own; their message, `service` and `instance` say where.
 * Throws a TypeError or BAD_REQUEST for wrong options.
 */
export function spockInterceptor(options: ServiceOptions): SpockInterceptor {
	checkOptions(options);
	const origins = new Origins(options);
	const unlisten = listen();
	void options.diplomat.closed.then(unlisten);
	const intercept = (dispatch: Dispatch): Dispatch => {
		const services = new ServiceDispatch(options, origins, { toInstance: () => dispatch, elsewhere: dispatch });
		return (request, handler) => services.dispatch(request, handler);
	};
	return Object.assign(intercept as unknown as SpockInterceptor, { close: unlisten, [Symbol.dispose]: unlisten });
}

/** Throws a TypeError that names what is missing or wrong. */
export function checkOptions({ diplomat, keepHost, servername, isFailure }: ServiceOptions): void {
	if (typeof diplomat?.acquire !== 'function') throw new TypeError('diplomat must be a Diplomat');
	if (keepHost !== undefined && typeof keepHost !== 'boolean') {
		throw new TypeError(`keepHost must be true or false: got ${String(keepHost)}`);
	}
	if (servername !== undefined && typeof servername !== 'string' && typeof servername !== 'function') {
		throw new TypeError(`servername must be a string or a function: got ${typeof servername}`);
	}
	if (isFailure !== undefined && typeof isFailure !== 'function') {
		throw new TypeError(`isFailure must be a function: got ${typeof isFailure}`);
	}
}
