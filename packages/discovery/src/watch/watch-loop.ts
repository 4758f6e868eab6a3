import { SpockError } from '@spock/protocol';
import { Backoff, type Clock, type MachineTable, type Random, step } from '@spock/protocol/internal';

import type { AnswerMeta } from '../foundation/backend.ts';
import { TokenBucket } from './token-bucket.ts';

export type WatchState = 'idle' | 'querying' | 'backing off' | 'stopped';
export type WatchEvent =
	| 'start'
	| 'unchanged'
	| 'changed'
	| 'index went back'
	| 'failed'
	| 'due'
	| 'reread'
	| 'retry'
	| 'stop';
export type WatchAction =
	| 'query'
	| 'query at the pace'
	| 'query soon'
	| 'retry later'
	| 'retry soon'
	| 'reset retries'
	| 'index 0'
	| 'notify'
	| 'cancel';

/**
 * The life of one blocking watch. `query at the pace` waits if the bucket is empty. `cancel` ends the query in flight or the
 * wait for the next one. `reread`: the last answer may be outdated, and the query in flight would not reveal it. `retry`: a failed
 * query may work again.
 */
export const watchMachine: MachineTable<WatchState, WatchEvent, WatchAction> = {
	idle: {
		start: ['querying', 'query'],
		stop: ['stopped'],
	},
	querying: {
		unchanged: ['querying', 'reset retries', 'notify', 'query at the pace'],
		changed: ['querying', 'reset retries', 'notify', 'query at the pace'],
		'index went back': ['querying', 'reset retries', 'index 0', 'notify', 'query at the pace'],
		failed: ['backing off', 'notify', 'index 0', 'retry later'],
		reread: ['querying', 'cancel', 'index 0', 'query soon'],
		stop: ['stopped', 'cancel'],
	},
	'backing off': {
		due: ['querying', 'query'],
		reread: ['backing off', 'cancel', 'retry soon'],
		retry: ['backing off', 'cancel', 'retry soon'],
		stop: ['stopped', 'cancel'],
	},
	stopped: {},
};

/** Delays between failed queries, of any registry. An agent that restarts refuses connections for about 0.2 s: the first retry comes within that. */
export const RETRY_DELAY_MS_MIN = 250;
export const RETRY_DELAY_MS_MAX = 30_000;
/**
 * When one event makes many watches query, each queries at a random point within this time. As much is added to a wait for the pace:
 * a service that comes and goes in step with it would be gone at each query.
 */
export const SPREAD_MS = 250;

/** The answer to one blocking query. */
export interface FetchAnswer<T> {
	readonly value: T;
	/** The index that the registry returned. */
	readonly index: number;
	/** How fresh it is, if the registry said so. */
	readonly meta?: AnswerMeta;
	/** The registry ended the query before its time although the index has not grown: its state was replaced. */
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
	/** Called with every good answer; `value` is the same object as before if nothing has changed. */
	readonly answered: (value: T, meta: AnswerMeta | undefined) => void;
	readonly failed: (error: SpockError) => void;
	readonly clock: Clock;
	/** Default `Math.random`. */
	readonly random?: Random;
}

const NOTHING = (): void => undefined;

/** Repeats blocking queries: decides when to query next, with which index, and what the outcome means. `fetch` makes one query. */
export class WatchLoop<T> {
	readonly #options: WatchLoopOptions<T>;
	readonly #backoff: Backoff;
	readonly #bucket: TokenBucket;
	readonly #random: Random;
	#state: WatchState = 'idle';
	#index = 0;
	/** The last good answer's value. */
	#known: { readonly value: T } | undefined;
	/** Ends the query in flight, or the wait for the next one. */
	#cancel: () => void = NOTHING;

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

	/** Queries without an index, within `SPREAD_MS`: the last answer may be outdated, and the query in flight would not reveal it. */
	reread(): void {
		this.#handle('reread');
	}

	/** Ends a back-off within `SPREAD_MS`: a failed query may work again. */
	retry(): void {
		this.#handle('retry');
	}

	/** Ends the loop and its query; idempotent. Nothing is reported after it. */
	stop(): void {
		this.#handle('stop');
	}

	/** `notify` reports what came with the event. */
	#handle(event: WatchEvent, notify: () => void = () => undefined): void {
		const { state, actions } = step(watchMachine, this.#state, event);
		this.#state = state;
		this.#run(state, actions, event, notify);
	}

	#run(state: WatchState, [action, ...rest]: readonly WatchAction[], event: WatchEvent, notify: () => void): void {
		// An observer that was just notified may have stopped the loop; skip the remaining actions then.
		if (action === undefined || this.#state !== state) return;
		try {
			if (action === 'notify') notify();
			else this.#act(action, event);
		} finally {
			// An observer's error reaches the caller, but must not end the watch.
			this.#run(state, rest, event, notify);
		}
	}

	#act(action: Exclude<WatchAction, 'notify'>, event: WatchEvent): void {
		switch (action) {
			case 'query':
				this.#queryIn(0);
				return;
			case 'query at the pace': {
				const paceMs = this.#bucket.take(this.#options.clock.now(), event === 'changed');
				this.#queryIn(paceMs === 0 ? 0 : paceMs + this.#random() * SPREAD_MS);
				return;
			}
			case 'query soon':
				this.#queryIn(this.#random() * SPREAD_MS);
				return;
			case 'retry later':
				this.#wait(this.#backoff.next(), () => this.#handle('due'));
				return;
			case 'retry soon':
				this.#wait(this.#random() * SPREAD_MS, () => this.#handle('due'));
				return;
			case 'reset retries':
				this.#backoff.reset();
				return;
			case 'index 0':
				this.#index = 0;
				return;
			case 'cancel':
				this.#cancel();
				return;
		}
	}

	#wait(delayMs: number, then: () => void): void {
		const { clock } = this.#options;
		const timer = clock.setTimeout(() => {
			this.#cancel = NOTHING;
			then();
		}, delayMs);
		this.#replace(() => clock.clearTimeout(timer));
	}

	#queryIn(delayMs: number): void {
		if (delayMs > 0) this.#wait(delayMs, () => this.#query());
		else this.#query();
	}

	#query(): void {
		const query = new AbortController();
		this.#replace(() => query.abort());
		this.#options.fetch(this.#index, query.signal).then(
			(answer) => {
				if (query.signal.aborted) return;
				this.#cancel = NOTHING;
				this.#answered(answer);
			},
			(reason: unknown) => {
				if (query.signal.aborted) return;
				this.#cancel = NOTHING;
				this.#handle('failed', () => this.#options.failed(SpockError.from(reason)));
			},
		);
	}

	/** One query or wait at a time: an observer may have started another one while the actions of an answer still run. */
	#replace(cancel: () => void): void {
		this.#cancel();
		this.#cancel = cancel;
	}

	#answered({ value: read, index, meta, isAbandoned = false }: FetchAnswer<T>): void {
		const reading = readIndex(this.#index, index);
		this.#index = reading.index;
		const known = this.#known;
		const isSame = known !== undefined && this.#options.isSame(known.value, read);
		const { value } = isSame ? known : { value: read };
		this.#known = { value };
		const event = reading.wentBack || isAbandoned ? 'index went back' : isSame ? 'unchanged' : 'changed';
		this.#handle(event, () => this.#options.answered(value, meta));
	}
}

/** What an answer's index means for the next query. */
interface IndexReading {
	/** The index of the next query; 0 does not block. */
	readonly index: number;
	/** True when the registry's index is lower than its last one: a restored or restarted server. */
	readonly wentBack: boolean;
}

/**
 * The index rules of blocking queries. An index that went back is reset to 0: an index above the server's would block
 * for the whole wait. A returned 0 counts as 1, because 0 never blocks and the loop would spin.
 * Source: https://developer.hashicorp.com/consul/api-docs/features/blocking
 */
export function readIndex(previous: number, returned: number): IndexReading {
	if (returned < previous) return { index: 0, wentBack: true };
	return { index: Math.max(1, returned), wentBack: false };
}
