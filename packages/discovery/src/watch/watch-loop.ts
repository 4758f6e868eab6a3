import { SpockError } from '@spock/protocol';
import { Backoff, type Clock, type Random, step, type TimerHandle } from '@spock/protocol/internal';

import type { AnswerMeta } from '../foundation/backend.ts';
import { readIndex } from './blocking-index.ts';
import { TokenBucket } from './token-bucket.ts';
import { type WatchAction, type WatchEvent, type WatchState, watchMachine } from './watch-machine.ts';

// An agent that restarts refuses connections for about 0.2 s: the first retry comes within the time that takes.
export const RETRY_DELAY_MS_MIN = 250;
export const RETRY_DELAY_MS_MAX = 30_000;
/**
 * What makes many watches ask at the same moment makes each of them ask at a random point within this time. So much is also
 * added to a wait that the pace demands: a service that comes and goes in step with it would be gone at each look.
 */
export const SPREAD_MS = 250;

/** The answer to one blocking query. */
export interface FetchAnswer<T> {
	readonly value: T;
	/** The index that the registry returned. */
	readonly index: number;
	/** How fresh it is, if the registry said so. */
	readonly meta?: AnswerMeta;
	/** The registry ended the query before its time although the index has not grown: what it knew was replaced. */
	readonly isAbandoned?: boolean;
}

/** What a {@link WatchLoop} needs. */
export interface WatchLoopOptions<T> {
	/**
	 * One query: blocks while the registry's index is `index`; 0 does not block. Must settle by a deadline of its own and
	 * at once when the signal aborts.
	 */
	readonly fetch: (index: number, signal: AbortSignal) => Promise<FetchAnswer<T>>;
	readonly isSame: (before: T, after: T) => boolean;
	/** Told of every good answer; `value` is the very same object as before where nothing has changed. */
	readonly answered: (value: T, meta: AnswerMeta | undefined) => void;
	readonly failed: (error: SpockError) => void;
	readonly clock: Clock;
	/** Default `Math.random`. */
	readonly random?: Random;
}

/**
 * Blocking queries without end: when to ask next, with which index, and what to make of the outcome. What one query is, is
 * the business of `fetch`.
 */
export class WatchLoop<T> {
	readonly #options: WatchLoopOptions<T>;
	readonly #backoff: Backoff;
	readonly #bucket: TokenBucket;
	readonly #random: Random;
	#state: WatchState = 'idle';
	#index = 0;
	#value: T | undefined;
	#meta: AnswerMeta | undefined;
	#error: SpockError | undefined;
	#paceMs = 0;
	#query: AbortController | undefined;
	#timer: TimerHandle | undefined;

	constructor(options: WatchLoopOptions<T>) {
		this.#options = options;
		const { random = Math.random } = options;
		this.#random = random;
		this.#backoff = new Backoff({ delayMsMin: RETRY_DELAY_MS_MIN, delayMsMax: RETRY_DELAY_MS_MAX, random });
		this.#bucket = new TokenBucket(options.clock.now());
	}

	get state(): WatchState {
		return this.#state;
	}

	/** Sends the first query; idempotent. */
	start(): void {
		this.#handle('start');
	}

	/** Asks without an index, within {@link SPREAD_MS}: what is known may be outdated, and the query that is held would not tell. */
	reread(): void {
		this.#handle('reread');
	}

	/** Ends a back-off within {@link SPREAD_MS}, if there is one: what failed may be well again. */
	retry(): void {
		this.#handle('retry');
	}

	/** Ends the loop and its query; idempotent. Nothing is told after it. */
	stop(): void {
		this.#handle('stop');
	}

	#handle(event: WatchEvent): void {
		const { state, actions } = step(watchMachine, this.#state, event);
		this.#state = state;
		this.#run(state, actions, event);
	}

	#run(state: WatchState, [action, ...rest]: readonly WatchAction[], event: WatchEvent): void {
		// An observer that was just told may have stopped the loop: the rest of the cell is then void.
		if (action === undefined || this.#state !== state) return;
		try {
			this.#act(action, event);
		} finally {
			// An observer that throws is heard of, but it must not end the watch.
			this.#run(state, rest, event);
		}
	}

	#act(action: WatchAction, event: WatchEvent): void {
		switch (action) {
			case 'query':
				if (this.#paceMs === 0) this.#sendQuery();
				else this.#arm(this.#paceMs, () => this.#sendQuery());
				this.#paceMs = 0;
				return;
			case 'reset retries':
				this.#backoff.reset();
				return;
			case 'verify':
			case 'publish':
			case 'publish if different':
				this.#options.answered(this.#value as T, this.#meta);
				return;
			case 'pace':
				this.#paceMs = this.#bucket.take(this.#options.clock.now(), event === 'changed');
				if (this.#paceMs > 0) this.#paceMs += this.#random() * SPREAD_MS;
				return;
			case 'report':
				this.#options.failed(this.#error as SpockError);
				return;
			case 'index 0':
				this.#index = 0;
				return;
			case 'schedule':
				this.#arm(this.#backoff.next(), () => this.#handle('due'));
				return;
			case 'schedule soon':
				this.#arm(this.#random() * SPREAD_MS, () => this.#handle('due'));
				return;
			case 'spread':
				this.#paceMs = this.#random() * SPREAD_MS;
				return;
			case 'abort the query':
				this.#query?.abort();
				return;
			case 'cancel the timer':
				this.#options.clock.clearTimeout(this.#timer);
				return;
		}
	}

	#arm(delayMs: number, callback: () => void): void {
		this.#timer = this.#options.clock.setTimeout(callback, delayMs);
	}

	#sendQuery(): void {
		const query = new AbortController();
		this.#query = query;
		this.#options.fetch(this.#index, query.signal).then(
			(answer) => {
				if (!query.signal.aborted) this.#answered(answer);
			},
			(reason: unknown) => {
				if (query.signal.aborted) return;
				this.#error = SpockError.from(reason);
				this.#handle('failed');
			},
		);
	}

	#answered({ value, index, meta, isAbandoned = false }: FetchAnswer<T>): void {
		this.#meta = meta;
		const reading = readIndex(this.#index, index);
		this.#index = reading.index;
		const before = this.#value;
		const isSame = before !== undefined && this.#options.isSame(before, value);
		if (!isSame) this.#value = value;
		this.#handle(reading.wentBack || isAbandoned ? 'index went back' : isSame ? 'unchanged' : 'changed');
	}
}
