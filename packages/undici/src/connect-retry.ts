import type { DispatchHandler } from './any-undici.ts';

/**
 * How far an attempt has come: nothing of it was sent, or undici has begun to send it and not one byte of an answer has come. Later
 * than that another instance cannot have the request.
 */
export type Unanswered = 'unsent' | 'sent';

/** Called with the error of an attempt: true if another instance has the request now. */
export type OnUnanswered = (error: unknown, stage: Unanswered) => boolean;

type Method = (...args: readonly unknown[]) => unknown;
type Methods = { readonly [name: string]: Method | undefined };

/**
 * Stands in front of a handler until an answer comes. Undici notifies it when it begins to send: an error before that shows
 * that there was no connection, and that no byte of the request, its body included, was taken. For one that is sent again undici
 * notifies its handler of the start again, as it does itself for requests in a pipeline.
 */
export function untilAnswered(handler: DispatchHandler, onUnanswered: OnUnanswered): DispatchHandler {
	// Undici, too, looks at this method for which of its two interfaces a handler has.
	return 'onRequestStart' in handler ? new Handler(handler, onUnanswered) : new LegacyHandler(handler, onUnanswered);
}

/** How far the attempt of a handler has come. */
class Progress {
	readonly #onUnanswered: OnUnanswered;
	#stage: Unanswered | 'answered' = 'unsent';

	constructor(onUnanswered: OnUnanswered) {
		this.#onUnanswered = onUnanswered;
	}

	started(): void {
		if (this.#stage === 'unsent') this.#stage = 'sent';
	}

	answered(): void {
		this.#stage = 'answered';
	}

	/** True if another attempt has begun. */
	failed(error: unknown): boolean {
		const stage = this.#stage;
		if (stage === 'answered') return false;
		// It may fail again before the call returns.
		this.#stage = 'unsent';
		if (this.#onUnanswered(error, stage)) return true;
		this.#stage = stage;
		return false;
	}
}

/** The interface of undici 7 and later (https://undici.nodejs.org/#/docs/api/Dispatcher). */
class Handler {
	readonly #handler: Methods;
	readonly #progress: Progress;

	constructor(handler: DispatchHandler, onUnanswered: OnUnanswered) {
		this.#handler = handler as Methods;
		this.#progress = new Progress(onUnanswered);
	}

	onRequestStart(controller: unknown, context: unknown): unknown {
		this.#progress.started();
		return this.#handler['onRequestStart']?.(controller, context);
	}

	onRequestUpgrade(...args: readonly unknown[]): unknown {
		this.#progress.answered();
		return this.#handler['onRequestUpgrade']?.(...args);
	}

	onResponseStarted(): unknown {
		this.#progress.answered();
		return this.#handler['onResponseStarted']?.();
	}

	onResponseStart(controller: unknown, statusCode: unknown, headers: unknown, statusMessage: unknown): unknown {
		this.#progress.answered();
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
		if (this.#progress.failed(error)) return undefined;
		return this.#handler['onResponseError']?.(controller, error);
	}
}

/** The interface of undici 6, which handlers of undici 7 may have, too. */
class LegacyHandler {
	readonly #handler: Methods;
	readonly #progress: Progress;

	constructor(handler: DispatchHandler, onUnanswered: OnUnanswered) {
		this.#handler = handler as Methods;
		this.#progress = new Progress(onUnanswered);
	}

	onConnect(abort: unknown, context: unknown): unknown {
		this.#progress.started();
		return this.#handler['onConnect']?.(abort, context);
	}

	onUpgrade(...args: readonly unknown[]): unknown {
		this.#progress.answered();
		return this.#handler['onUpgrade']?.(...args);
	}

	onResponseStarted(): unknown {
		this.#progress.answered();
		return this.#handler['onResponseStarted']?.();
	}

	onHeaders(statusCode: unknown, headers: unknown, resume: unknown, statusMessage: unknown): unknown {
		this.#progress.answered();
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
		if (this.#progress.failed(error)) return undefined;
		return this.#handler['onError']?.(error);
	}
}
