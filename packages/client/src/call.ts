import { SpockError } from '@spock/protocol';
import { requestEndChannel, requestStartChannel } from './diagnostics.ts';

/** What a call needs of a clock. */
export interface CallClock {
	/** Monotonic milliseconds, as fine as deadlines need. */
	now(): number;
	/** Monotonic milliseconds, as fine as measurements need. */
	exactNow(): number;
}

/** What is common to all calls of one kind: shared, so that a call itself is small. */
export interface CallTraits {
	/** The call may be sent again after a reconnect, within its deadline. */
	readonly idempotent: boolean;
	/** Nobody outside waits for it: it does not hold up a drain. */
	readonly background: boolean;
	/** Equal replies may be one value: `read` makes it frozen, and it is remembered by its text. */
	readonly memoised: boolean;
	/** Checks the data of the reply and gives the call's value; throws PROTOCOL. Default: the data itself. */
	readonly read: ((data: unknown) => unknown) | undefined;
}

/** Who holds a call that is not settled: the calls that wait, or the channel of a socket. One at a time. */
export interface CallOwner {
	/** Lets the call go without settling it: its caller gave up. */
	abandon(call: Call): void;
}

/** What a call is made of. */
export interface CallRequest {
	readonly func: string;
	/** Everything of the frame behind the id. */
	readonly tail: string;
	readonly traits: CallTraits;
	readonly timeoutMs: number;
	readonly signal: AbortSignal | undefined;
}

/**
 * One call from its making to its end. Whoever settles it has taken it from its owner first, so it is settled exactly
 * once: by its reply, its deadline, its signal, or the end of the connection.
 */
export class Call {
	readonly func: string;
	readonly tail: string;
	readonly traits: CallTraits;
	readonly timeoutMs: number;
	readonly deadlineMs: number;
	/** Its id on the wire while a channel owns it. */
	id = -1;
	/** True from the moment its frame was handed to a socket. */
	sent = false;
	owner: CallOwner | undefined = undefined;
	readonly #clock: CallClock;
	readonly #startedMs: number;
	readonly #signal: AbortSignal | undefined;
	readonly #resolve: (value: unknown) => void;
	readonly #reject: (error: SpockError) => void;

	constructor(
		request: CallRequest,
		clock: CallClock,
		resolve: (value: unknown) => void,
		reject: (error: SpockError) => void,
	) {
		this.func = request.func;
		this.tail = request.tail;
		this.traits = request.traits;
		this.timeoutMs = request.timeoutMs;
		this.deadlineMs = clock.now() + request.timeoutMs;
		this.#clock = clock;
		this.#signal = request.signal;
		this.#resolve = resolve;
		this.#reject = reject;
		this.#signal?.addEventListener('abort', this, { once: true });
		this.#startedMs = requestEndChannel.hasSubscribers ? clock.exactNow() : this.deadlineMs - this.timeoutMs;
		if (requestStartChannel.hasSubscribers) requestStartChannel.publish({ func: this.func, call: this });
	}

	resolve(value: unknown): void {
		this.#end(undefined);
		this.#resolve(value);
	}

	reject(error: SpockError): void {
		this.#end(error);
		this.#reject(error);
	}

	rejectTimeout(where: string): void {
		const { func, timeoutMs, sent } = this;
		this.reject(
			new SpockError('TIMEOUT', `${func}: no reply within ${timeoutMs} ms${where}`, {
				details: { func, timeoutMs, sent },
			}),
		);
	}

	/** The listener of the signal's `abort`: the call is its own listener, which saves a closure. */
	handleEvent(): void {
		this.owner?.abandon(this);
		this.reject(abortedError(this.#signal as AbortSignal, this.func));
	}

	#end(error: SpockError | undefined): void {
		this.owner = undefined;
		this.#signal?.removeEventListener('abort', this);
		if (requestEndChannel.hasSubscribers) {
			const durationMs = Math.max(0, this.#clock.exactNow() - this.#startedMs);
			requestEndChannel.publish({ func: this.func, call: this, durationMs, error });
		}
	}
}

/** ABORTED, its cause the reason of the signal. */
export function abortedError(signal: AbortSignal, what: string): SpockError {
	return new SpockError('ABORTED', `${what}: the caller aborted it`, { cause: signal.reason });
}

/** Throws ABORTED for a signal that is aborted. */
export function throwIfAborted(signal: AbortSignal | undefined, what: string): void {
	if (signal?.aborted) throw abortedError(signal, what);
}
