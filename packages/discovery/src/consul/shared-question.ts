import { type ServiceInstance, SpockError } from '@spock/protocol';
import { Backoff, type Clock, type Random, step, type TimerHandle } from '@spock/protocol/internal';

import type { AnswerMeta, BackendObserver } from '../backend.ts';
import { type FetchAnswer, RETRY_DELAY_MS_MAX, RETRY_DELAY_MS_MIN } from '../watch-loop.ts';
import { type RereadAction, type RereadEvent, type RereadState, rereadMachine } from './reread-machine.ts';

/** A follower is some 80 ms behind the leader: how soon to look again where the change had not arrived, and how often. */
const LOOK_AGAIN_MS = 100;
const EARLY_LOOKS_MAX = 2;

/** What a {@link SharedQuestion} needs. */
export interface SharedQuestionOptions {
	/** The service's name, as the shared watch tells of it. */
	readonly service: string;
	/** Reads the service as it is now; index 0, because it does not block. */
	readonly fetch: (index: 0, signal: AbortSignal) => Promise<FetchAnswer<readonly ServiceInstance[]>>;
	/** Asks for the service's own index and nothing else; undefined where that is no cheaper than to read it. */
	readonly probe: ((signal: AbortSignal) => Promise<FetchAnswer<unknown>>) | undefined;
	readonly observer: BackendObserver;
	readonly clock: Clock;
	readonly random: Random | undefined;
	/** Asks for a slot to read in. */
	readonly enqueue: (question: SharedQuestion) => void;
	/** Asks for a turn: it may have changed. */
	readonly doubt: (question: SharedQuestion) => void;
	/** Asks for a turn to confirm: a server that lags may have been asked. */
	readonly awaitConfirmation: (question: SharedQuestion) => void;
	/** Its index is another one than before; `wasDoubtful`: nothing but a look has shown that. */
	readonly changed: (question: SharedQuestion, wasDoubtful: boolean) => void;
}

/**
 * Why it is read: the shared watch tells of a change, or it was read never before; it may have changed; it may have been read
 * from a server that lagged.
 */
type Reason = 'news' | 'look' | 'confirm';

/** One question under a shared watch: its last answer, and whether and how it is read again. */
export class SharedQuestion {
	readonly service: string;
	readonly #options: SharedQuestionOptions;
	readonly #backoff: Backoff;
	#state: RereadState = 'lost';
	#instances: readonly ServiceInstance[] | undefined;
	#meta: AnswerMeta | undefined;
	/** The service's own index in its last answer; 0 where that says nothing. */
	#index = 0;
	#reason: Reason = 'news';
	/** Looks that were too early since the last change. */
	#earlyLooks = 0;
	#error: SpockError | undefined;
	#query: AbortController | undefined;
	#timer: TimerHandle | undefined;

	constructor(options: SharedQuestionOptions) {
		this.#options = options;
		this.service = options.service;
		const { random } = options;
		this.#backoff = new Backoff({
			delayMsMin: RETRY_DELAY_MS_MIN,
			delayMsMax: RETRY_DELAY_MS_MAX,
			...(random && { random }),
		});
	}

	get state(): RereadState {
		return this.#state;
	}

	/** True if an instance of the last answer is on the node. */
	isOn(node: string): boolean {
		return this.#instances?.some(({ instance }) => instance.startsWith(`${node}/`)) ?? false;
	}

	handle(event: 'concerned' | 'doubted' | 'turn' | 'turn to confirm' | 'watch back' | 'unwatched' | 'stop'): void {
		if (event === 'concerned') {
			this.#earlyLooks = 0;
			// Whatever it was to be read for, and before it is: the next slot may be free.
			this.#reason = 'news';
		}
		this.#handle(event);
	}

	/** What moves no index may have changed: it is read at its turn, and not only looked at. */
	distrust(): void {
		this.#index = 0;
		this.#handle('unwatched');
	}

	/** The shared watch fails: nobody would tell of a change. */
	lost(error: SpockError): void {
		this.#error = error;
		this.#readFor('look');
		this.#handle('watch lost');
	}

	/** The shared watch has answered, and nothing has changed here. */
	verified(meta: AnswerMeta | undefined): void {
		this.#meta = meta;
		this.#handle('verified');
	}

	/** Reads it, or sees that there is nothing new to read; resolves when that has ended, well or not. */
	async read(): Promise<void> {
		this.#handle('slot');
		const query = new AbortController();
		this.#query = query;
		const reason = this.#reason;
		this.#reason = 'look';
		try {
			const isSame = reason !== 'news' && (await this.#isSame(query.signal));
			if (query.signal.aborted) return;
			if (!isSame) await this.#fetch(query.signal, reason);
			else this.#handle(reason === 'confirm' ? 'read' : 'read in doubt');
		} catch (failure) {
			if (query.signal.aborted) return;
			this.#error = SpockError.from(failure);
			this.#readFor(reason);
			this.#handle('failed');
		}
	}

	/** Each service has an index of its own, which grows with whatever is seen of it. */
	async #isSame(signal: AbortSignal): Promise<boolean> {
		const { probe } = this.#options;
		if (probe === undefined || this.#index === 0) return false;
		const { index, meta } = await probe(signal);
		if (index !== this.#index) return false;
		this.#meta = meta;
		this.#backoff.reset();
		return true;
	}

	async #fetch(signal: AbortSignal, reason: Reason): Promise<void> {
		const { value, index, meta } = await this.#options.fetch(0, signal);
		if (signal.aborted) return;
		const before = this.#index;
		this.#instances = value;
		this.#meta = meta;
		this.#index = index;
		this.#backoff.reset();
		if (before > 0 && index !== before) this.#options.changed(this, reason !== 'news');
		this.#handle(this.#judge(reason, before, index));
	}

	/** Whatever it is to be read for, it is for news where there have been some meanwhile. */
	#readFor(reason: Reason): void {
		if (this.#reason !== 'news') this.#reason = reason;
	}

	#judge(reason: Reason, before: number, index: number): 'read' | 'read too early' | 'read in doubt' {
		if (reason === 'confirm') return 'read';
		if (reason === 'look') return 'read in doubt';
		if (before > 0 && index > before) return 'read';
		if (before === 0 || index < before || this.#earlyLooks >= EARLY_LOOKS_MAX) return 'read in doubt';
		this.#earlyLooks++;
		this.#reason = 'news';
		return 'read too early';
	}

	#handle(event: RereadEvent): void {
		const { state, actions } = step(rereadMachine, this.#state, event);
		this.#state = state;
		this.#run(state, actions);
	}

	#run(state: RereadState, [action, ...rest]: readonly RereadAction[]): void {
		// An observer that was just told may have stopped the question: the rest of the cell is then void.
		if (action === undefined || this.#state !== state) return;
		try {
			this.#act(action);
		} finally {
			// An observer that throws is heard of, but it must not end the watch.
			this.#run(state, rest);
		}
	}

	#act(action: RereadAction): void {
		const { observer, clock } = this.#options;
		switch (action) {
			case 'enqueue':
				this.#options.enqueue(this);
				return;
			case 'enqueue to look':
				this.#readFor('look');
				this.#options.enqueue(this);
				return;
			case 'enqueue to confirm':
				this.#readFor('confirm');
				this.#options.enqueue(this);
				return;
			case 'stay in doubt':
				this.#readFor('look');
				return;
			case 'doubt':
				this.#options.doubt(this);
				return;
			case 'await confirmation':
				this.#options.awaitConfirmation(this);
				return;
			case 'query':
				// Sent by `read`, which was given the slot.
				return;
			case 'publish':
			case 'verify':
				observer.answered(this.#instances as readonly ServiceInstance[], this.#meta);
				return;
			case 'report':
				observer.failed(this.#error as SpockError);
				return;
			case 'schedule a retry':
				this.#timer = clock.setTimeout(() => this.#handle('due'), this.#backoff.next());
				return;
			case 'schedule another look':
				this.#timer = clock.setTimeout(() => this.#handle('due'), LOOK_AGAIN_MS);
				return;
			case 'abort the query':
				this.#query?.abort();
				return;
			case 'cancel the timer':
				clock.clearTimeout(this.#timer);
				return;
		}
	}
}
