/** Called when a signal aborts. */
export type AbortListener = (() => void) | { handleEvent(): void };

/**
 * The one listener of a signal: Node 20 warns of a leak at the eleventh, and an app may well give one signal to a thousand calls. On
 * the signal only while somebody listens.
 */
class AbortFan {
	readonly #signal: WeakRef<AbortSignal>;
	readonly #listeners = new Set<AbortListener>();

	constructor(signal: AbortSignal) {
		this.#signal = new WeakRef(signal);
	}

	add(listener: AbortListener): void {
		if (this.#listeners.size === 0) this.#signal.deref()?.addEventListener('abort', this, { once: true });
		this.#listeners.add(listener);
	}

	delete(listener: AbortListener): void {
		if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return;
		this.#signal.deref()?.removeEventListener('abort', this);
	}

	handleEvent(): void {
		for (const listener of [...this.#listeners]) {
			// A listener that was called before may have removed it.
			if (!this.#listeners.delete(listener)) continue;
			if (typeof listener === 'function') listener();
			else listener.handleEvent();
		}
	}
}

const fans = new WeakMap<AbortSignal, AbortFan>();

/** Calls the listener once when the signal aborts, which it has not yet. */
export function onAbort(signal: AbortSignal, listener: AbortListener): void {
	let fan = fans.get(signal);
	if (fan === undefined) {
		fan = new AbortFan(signal);
		fans.set(signal, fan);
	}
	fan.add(listener);
}

/** Takes the listener away, if it is there. */
export function offAbort(signal: AbortSignal | undefined, listener: AbortListener): void {
	if (signal !== undefined) fans.get(signal)?.delete(listener);
}

/**
 * Calls a function with a signal that aborts as soon as one of these does, and leaves nothing on them: a long-lived signal would
 * remember each AbortSignal.any that it was a part of.
 */
export async function withAnySignal<T>(
	signals: readonly (AbortSignal | undefined)[],
	call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
	const either = new AbortController();
	const watched = signals
		.filter((signal) => signal !== undefined)
		.map((signal) => {
			const abort = (): void => either.abort(signal.reason);
			if (signal.aborted) abort();
			else onAbort(signal, abort);
			return { signal, abort };
		});
	try {
		return await call(either.signal);
	} finally {
		for (const { signal, abort } of watched) offAbort(signal, abort);
	}
}
