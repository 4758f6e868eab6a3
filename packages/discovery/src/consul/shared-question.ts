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
	readonly observer: BackendObserver;
	readonly clock: Clock;
	readonly random: Random | undefined;
	/** Asks for a slot to read in. */
	readonly enqueue: (question: SharedQuestion) => void;
	/** Asks for a turn: it may have changed. */
	readonly doubt: (question: SharedQuestion) => void;
}

/** One question under a shared watch: its last answer, and whether and how it is read again. */
export class SharedQuestion {
	readonly service: string;
	/** When it became doubtful. */
	doubtedAtMs = 0;
	readonly #options: SharedQuestionOptions;
	readonly #backoff: Backoff;
	#state: RereadState = 'lost';
	#instances: readonly ServiceInstance[] | undefined;
	#meta: AnswerMeta | undefined;
	/** The service's own index in its last answer; 0 where that says nothing. */
	#index = 0;
	#isConfirming = false;
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

	handle(event: 'concerned' | 'doubted' | 'turn' | 'watch back' | 'stop'): void {
		if (event === 'concerned') this.#earlyLooks = 0;
		this.#handle(event);
	}

	/** The shared watch fails: nobody would tell of a change. */
	lost(error: SpockError): void {
		this.#error = error;
		this.#index = 0;
		this.#handle('watch lost');
	}

	/** The shared watch has answered, and nothing has changed here. */
	verified(meta: AnswerMeta | undefined): void {
		this.#meta = meta;
		this.#handle('verified');
	}

	/** Reads it; resolves when that has ended, well or not. */
	async read(): Promise<void> {
		this.#handle('slot');
		const query = new AbortController();
		this.#query = query;
		try {
			const { value, index, meta } = await this.#options.fetch(0, query.signal);
			if (query.signal.aborted) return;
			const before = this.#index;
			this.#instances = value;
			this.#meta = meta;
			this.#index = index;
			this.#backoff.reset();
			this.#handle(this.#judge(before, index));
		} catch (reason) {
			if (query.signal.aborted) return;
			this.#error = SpockError.from(reason);
			this.#index = 0;
			this.#handle('failed');
		}
	}

	/** Each service has an index of its own, which grows with whatever is seen of it. */
	#judge(before: number, index: number): 'read' | 'read too early' | 'read in doubt' {
		if (this.#isConfirming || (before > 0 && index > before)) return 'read';
		if (before === 0 || index < before || this.#earlyLooks >= EARLY_LOOKS_MAX) return 'read in doubt';
		this.#earlyLooks++;
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
			case 'enqueue to confirm':
				this.#isConfirming = action === 'enqueue to confirm';
				this.#options.enqueue(this);
				return;
			case 'doubt':
				this.doubtedAtMs = clock.now();
				this.#options.doubt(this);
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
