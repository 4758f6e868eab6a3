/** One call of {@link SteadyCalls}. */
export interface SteadyCall<T> {
	/** By `performance.now()`. */
	readonly startedMs: number;
	readonly endedMs: number;
	readonly value?: T;
	readonly error?: unknown;
}

/** An app at work: some callers, each of which calls again as soon as its last call has ended, and a little later. */
export class SteadyCalls<T> implements AsyncDisposable {
	/** Those that have ended, in the order of their ends. */
	readonly calls: SteadyCall<T>[] = [];
	readonly #call: () => Promise<T>;
	readonly #pauseMs: number;
	readonly #callers: Promise<void>[];
	#isStopped = false;

	constructor(
		call: () => Promise<T>,
		{ callers = 1, pauseMs = 2 }: { readonly callers?: number; readonly pauseMs?: number } = {},
	) {
		this.#call = call;
		this.#pauseMs = pauseMs;
		this.#callers = Array.from({ length: callers }, () => this.#loop());
	}

	/** Those that failed. */
	get failed(): readonly SteadyCall<T>[] {
		return this.calls.filter((call) => 'error' in call);
	}

	/** Lets the calls under way end, and no more begin. */
	async stop(): Promise<void> {
		this.#isStopped = true;
		await Promise.all(this.#callers);
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.stop();
	}

	async #loop(): Promise<void> {
		while (!this.#isStopped) {
			const startedMs = performance.now();
			try {
				const value = await this.#call();
				this.calls.push({ startedMs, endedMs: performance.now(), value });
			} catch (error) {
				this.calls.push({ startedMs, endedMs: performance.now(), error });
			}
			await new Promise<void>((resolve) => setTimeout(resolve, this.#pauseMs));
		}
	}
}
