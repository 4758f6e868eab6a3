import type { ServiceInstance } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { AnswerMeta } from '../../../foundation/backend.ts';
import type { FetchAnswer } from '../../../watch/watch-loop.ts';

/** A server that lags has heard of everything after this: who is asked earlier than that may not know of the change yet. */
const LAG_MS = 1000;
/** A follower is some 80 ms behind the leader: how soon to ask again where a change that is known of had not arrived. */
const ASK_AGAIN_MS = 100;

type Instances = readonly ServiceInstance[];

/** What a {@link SharedQuestion} needs. */
export interface SharedQuestionOptions {
	readonly service: string;
	/** Whether what is shared tells of changes here; a peer's it does not. */
	readonly isTold: boolean;
	/** Reads the service as it is now; index 0, because it does not block. */
	readonly fetch: (index: 0, signal: AbortSignal) => Promise<FetchAnswer<Instances>>;
	/** Asks for the service's own index and nothing else; undefined where that is no cheaper than to read it. */
	readonly probe: ((signal: AbortSignal) => Promise<FetchAnswer<unknown>>) | undefined;
	/** Whether it was answered before, here or by a query of its own: an unknown name may never be. */
	readonly isKnown: () => boolean;
	/** Ends the question if nobody reads it any more; true if it did, and there is nothing to ask. */
	readonly endIfUnread: () => boolean;
	/** What was answered last is still so, or was so when it was confirmed last. Told only while a query waits. */
	readonly confirmed: (meta: AnswerMeta) => void;
	readonly clock: Clock;
	/** Asks for a turn. */
	readonly enqueue: (question: SharedQuestion, isUrgent: boolean) => void;
}

interface Waiting {
	/** The index that the query waits to leave; 0 where it waits for any answer. */
	readonly index: number;
	readonly signal: AbortSignal;
	readonly resolve: (answer: FetchAnswer<Instances>) => void;
	readonly reject: (reason: unknown) => void;
}

/** One question under a shared watch: the query that waits in its name, and until when what is known was confirmed. */
export class SharedQuestion {
	readonly service: string;
	/** No turn before this. */
	dueAtMs: number;
	readonly #options: SharedQuestionOptions;
	#waiting: Waiting | undefined;
	#nodes: ReadonlySet<string> = new Set();
	#confirmedAtMs: number;
	#readAtMs: number;
	/** When something may have changed last, until a turn has come late enough after it. */
	#doubtedAtMs: number | undefined;
	/** Changed, as is known: how often it may still be asked before a server that lags has heard of it. */
	#hurry = 0;
	/** Its index says nothing, and nor is it known on which nodes it is: it is read. */
	#mustRead = true;
	#isToldLate = false;
	#isTurn = false;

	constructor(options: SharedQuestionOptions) {
		this.#options = options;
		this.service = options.service;
		const nowMs = options.clock.now();
		this.dueAtMs = nowMs;
		this.#confirmedAtMs = nowMs;
		this.#readAtMs = nowMs;
	}

	/** True if it ended, because nobody reads it. */
	endIfUnread(): boolean {
		return this.#options.endIfUnread();
	}

	/** Whether it was answered before. */
	get isKnown(): boolean {
		return this.#options.isKnown();
	}

	/** True while it waits for any answer. */
	get waitsForAny(): boolean {
		return this.#waiting?.index === 0;
	}

	/** True if an instance of the last answer is on the node. */
	isOn(node: string): boolean {
		return this.#nodes.has(node);
	}

	/** One query: see `SharedQuery.fetch`. */
	wait(index: number, signal: AbortSignal): Promise<FetchAnswer<Instances>> {
		return new Promise((resolve, reject) => {
			const waiting: Waiting = { index, signal, resolve, reject };
			const end = (): void => {
				if (this.#waiting === waiting) this.#waiting = undefined;
				reject(signal.reason);
			};
			if (signal.aborted) return end();
			signal.addEventListener('abort', end, { once: true });
			this.#waiting = waiting;
			if (index === 0) this.dueAtMs = this.#options.clock.now();
			if (!this.#options.isTold || this.#mustRead) this.#doubtedAtMs ??= this.#options.clock.now();
			this.#enqueue();
		});
	}

	/** Nothing is told after it. */
	stop(): void {
		this.#waiting = undefined;
	}

	/** It has changed. */
	concern(): void {
		this.#hurry = 2;
		this.dueAtMs = this.#options.clock.now();
		this.doubt();
	}

	/** It may have changed. */
	doubt(): void {
		const nowMs = this.#options.clock.now();
		if (this.#doubtedAtMs === undefined) this.#confirmedAtMs = Math.max(this.#confirmedAtMs, nowMs - LAG_MS);
		this.#doubtedAtMs = nowMs;
		this.#enqueue();
	}

	/** Others have changed or nothing has, as of `ageMs` ago. */
	unchanged(ageMs: number): void {
		if (this.#doubtedAtMs !== undefined || this.#waiting === undefined || this.#waiting.index === 0) return;
		this.#confirm(this.#options.clock.now() - ageMs, { ageMs });
	}

	/** Says so where what is known was not confirmed in time, and sees to it that it is read once in a while. */
	look({ liveAgeMsMax, readMsMax }: { readonly liveAgeMsMax: number; readonly readMsMax: number }): void {
		const nowMs = this.#options.clock.now();
		if (nowMs - this.#readAtMs >= readMsMax && !this.#mustRead) {
			this.#mustRead = true;
			this.doubt();
		}
		if (this.#doubtedAtMs === undefined || this.#isToldLate || this.#waiting === undefined) return;
		const ageMs = nowMs - this.#confirmedAtMs;
		if (ageMs <= liveAgeMsMax) return;
		this.#isToldLate = true;
		this.#options.confirmed({ ageMs, isUnconfirmed: true });
	}

	/** Asks for the index, and reads where that has moved; resolves when that has ended, well or not. */
	async turn(): Promise<void> {
		const waiting = this.#waiting;
		if (waiting === undefined) return;
		this.#isTurn = true;
		try {
			await this.#ask(waiting);
		} catch (reason) {
			if (this.#take(waiting)) waiting.reject(reason);
		} finally {
			this.#isTurn = false;
			this.#enqueue();
		}
	}

	async #ask(waiting: Waiting): Promise<void> {
		const { clock, fetch, probe } = this.#options;
		const { index, signal } = waiting;
		const askedAtMs = clock.now();
		const mustRead = this.#mustRead || index === 0;
		if (probe !== undefined && !mustRead && this.#hurry === 0) {
			const { index: found, meta } = await probe(signal);
			if (this.#waiting !== waiting) return;
			if (found === index) return this.#asBefore(askedAtMs, meta);
		}
		const readAtMs = clock.now();
		const answer = await fetch(0, signal);
		if (this.#waiting !== waiting) return;
		this.#readAtMs = readAtMs;
		this.#nodes = new Set(answer.value.map(({ instance }) => instance.slice(0, instance.indexOf('/'))));
		if (!mustRead && answer.index === index) return this.#asBefore(readAtMs, answer.meta);
		this.#mustRead = false;
		this.#hurry = 0;
		this.#settleDoubt(readAtMs, answer.meta);
		this.#isToldLate = answer.meta?.isUnconfirmed === true;
		this.#take(waiting);
		waiting.resolve(answer);
	}

	#asBefore(askedAtMs: number, meta: AnswerMeta = { ageMs: 0 }): void {
		this.#settleDoubt(askedAtMs, meta);
		const again = this.#hurry === 2 ? ASK_AGAIN_MS : LAG_MS;
		this.#hurry = Math.max(0, this.#hurry - 1);
		this.dueAtMs = this.#options.clock.now() + again;
		this.#confirm(this.#confirmedAtMs, meta);
	}

	/** What was asked for well after something may have changed says whether it has. */
	#settleDoubt(askedAtMs: number, meta: AnswerMeta | undefined): void {
		const asOfMs = askedAtMs - (meta?.ageMs ?? 0);
		const doubtedAtMs = this.#doubtedAtMs;
		const isSettled = doubtedAtMs === undefined || asOfMs >= doubtedAtMs + LAG_MS;
		// A server that lags says how it was a moment ago.
		this.#confirmedAtMs = Math.max(this.#confirmedAtMs, isSettled ? asOfMs : asOfMs - LAG_MS);
		if (isSettled && !meta?.isUnconfirmed) this.#doubtedAtMs = this.#options.isTold ? undefined : askedAtMs;
		this.dueAtMs = this.#options.clock.now() + LAG_MS;
	}

	#confirm(asOfMs: number, meta: AnswerMeta): void {
		this.#confirmedAtMs = Math.max(this.#confirmedAtMs, asOfMs);
		this.#isToldLate = meta.isUnconfirmed === true;
		this.#options.confirmed({ ...meta, ageMs: Math.max(meta.ageMs, this.#options.clock.now() - this.#confirmedAtMs) });
	}

	#enqueue(): void {
		if (this.#waiting === undefined || this.#isTurn) return;
		if (this.#waiting.index === 0 || this.#hurry > 0) this.#options.enqueue(this, true);
		else if (this.#doubtedAtMs !== undefined) this.#options.enqueue(this, false);
	}

	#take(waiting: Waiting): boolean {
		if (this.#waiting !== waiting) return false;
		this.#waiting = undefined;
		return true;
	}
}
