import type { DispatchHandler } from './any-undici.ts';

/** Called with the error of a request of which nothing was sent: true if another instance has the request now. */
export type OnUnsent = (error: unknown) => boolean;

type Method = (...args: readonly unknown[]) => unknown;
type Methods = { readonly [name: string]: Method | undefined };

/**
 * Stands in front of a handler until undici begins to send its request, which it notifies by the first call: an error before that says
 * that there was no connection, and that no byte of the request, its body included, was taken.
 */
export function beforeStart(handler: DispatchHandler, onUnsent: OnUnsent): DispatchHandler {
	// Undici, too, looks at this method for which of its two interfaces a handler has.
	return 'onRequestStart' in handler ? new Handler(handler, onUnsent) : new LegacyHandler(handler, onUnsent);
}

/** The interface of undici 7 and later (https://undici.nodejs.org/#/docs/api/Dispatcher). */
class Handler {
	readonly #handler: Methods;
	readonly #onUnsent: OnUnsent;
	#isStarted = false;

	constructor(handler: DispatchHandler, onUnsent: OnUnsent) {
		this.#handler = handler as Methods;
		this.#onUnsent = onUnsent;
	}

	onRequestStart(controller: unknown, context: unknown): unknown {
		this.#isStarted = true;
		return this.#handler['onRequestStart']?.(controller, context);
	}

	onRequestUpgrade(...args: readonly unknown[]): unknown {
		return this.#handler['onRequestUpgrade']?.(...args);
	}

	onResponseStarted(): unknown {
		return this.#handler['onResponseStarted']?.();
	}

	onResponseStart(controller: unknown, statusCode: unknown, headers: unknown, statusMessage: unknown): unknown {
		return this.#handler['onResponseStart']?.(controller, statusCode, headers, statusMessage);
	}

	onResponseData(controller: unknown, chunk: unknown): unknown {
		return this.#handler['onResponseData']?.(controller, chunk);
	}

	onResponseEnd(controller: unknown, trailers: unknown): unknown {
		return this.#handler['onResponseEnd']?.(controller, trailers);
	}

	onBodySent(...args: readonly unknown[]): unknown {
		return this.#handler['onBodySent']?.(...args);
	}

	onRequestSent(): unknown {
		return this.#handler['onRequestSent']?.();
	}

	onResponseError(controller: unknown, error: unknown): unknown {
		if (!this.#isStarted && this.#onUnsent(error)) return undefined;
		return this.#handler['onResponseError']?.(controller, error);
	}
}

/** The interface of undici 6, which handlers of undici 7 may have, too. */
class LegacyHandler {
	readonly #handler: Methods;
	readonly #onUnsent: OnUnsent;
	#isStarted = false;

	constructor(handler: DispatchHandler, onUnsent: OnUnsent) {
		this.#handler = handler as Methods;
		this.#onUnsent = onUnsent;
	}

	onConnect(abort: unknown, context: unknown): unknown {
		this.#isStarted = true;
		return this.#handler['onConnect']?.(abort, context);
	}

	onUpgrade(...args: readonly unknown[]): unknown {
		return this.#handler['onUpgrade']?.(...args);
	}

	onResponseStarted(): unknown {
		return this.#handler['onResponseStarted']?.();
	}

	onHeaders(statusCode: unknown, headers: unknown, resume: unknown, statusMessage: unknown): unknown {
		return this.#handler['onHeaders']?.(statusCode, headers, resume, statusMessage);
	}

	onData(chunk: unknown): unknown {
		return this.#handler['onData']?.(chunk);
	}

	onComplete(trailers: unknown): unknown {
		return this.#handler['onComplete']?.(trailers);
	}

	onBodySent(...args: readonly unknown[]): unknown {
		return this.#handler['onBodySent']?.(...args);
	}

	onRequestSent(): unknown {
		return this.#handler['onRequestSent']?.();
	}

	onError(error: unknown): unknown {
		if (!this.#isStarted && this.#onUnsent(error)) return undefined;
		return this.#handler['onError']?.(error);
	}
}
