import type { ServiceInstance } from '@spock/protocol';
import type { TimerHandle } from '@spock/protocol/internal';

import type { AnswerMeta } from '../../../foundation/backend.ts';
import { isSameAnswer } from '../../../foundation/snapshot-diff.ts';
import type { FetchAnswer } from '../../../watch/watch-loop.ts';
import { type ConsulHttp, LIVE_AGE_MS_MAX } from '../http/consul-http.ts';
import { CatalogIndex } from './catalog-index.ts';
import { FirstReads } from './first-reads.ts';
import type { QueryBudget } from './query-budget.ts';
import type { WatchRecovery } from './watch-recovery.ts';

/** A server that lags knows after this of everything that another one knew: a read before it is followed by another. */
const LAG_MS = 1000;
/** Reads at once. */
const READS_MAX = 16;
/** First lookups in a row, after which a service that is read again has its turn. */
const FIRST_IN_ROW_MAX = 3;
/** How often to look for answers that were not confirmed in time. */
const TICK_MS = 1000;

type Instances = readonly ServiceInstance[];

/** What {@link PolledServices} need. */
export interface PolledServicesOptions {
	readonly http: ConsulHttp;
	readonly recovery: WatchRecovery;
	/** Where to look, and how. */
	readonly parameters: Readonly<Record<string, string>>;
	/** Of all polled services, whatever their datacenter. */
	readonly budget: QueryBudget;
}

/** How one service is read, and what is notified when its answer is confirmed. */
export interface PolledSource {
	/** Whether the catalog's index moves with it; a peer's services are not in the catalog. */
	readonly isInCatalog: boolean;
	/** Reads the service as it is now; index 0, because it does not block. */
	readonly fetch: (index: 0, signal: AbortSignal) => Promise<FetchAnswer<Instances>>;
	/** Its last answer; undefined while it fails, or before there is one. */
	readonly known: () => Instances | undefined;
	/** Ends it if no client reads it any more; true if it did, and there is nothing to query. */
	readonly endIfUnread: () => boolean;
	/** What was answered last is still so, or was so when it was confirmed last. Called only while a query waits. */
	readonly confirmed: (meta: AnswerMeta) => void;
}

/** One service among those that are polled. */
export interface PolledService {
	/** Resolves when the service has changed; with index 0 as soon as it was read. */
	fetch(index: number, signal: AbortSignal): Promise<FetchAnswer<Instances>>;
	/** Idempotent; its observer is not called after it. */
	leave(): void;
}

interface Waiting {
	/** True where any answer will do: a client may wait for it. */
	readonly isFirst: boolean;
	readonly signal: AbortSignal;
	readonly resolve: (answer: FetchAnswer<Instances>) => void;
	readonly reject: (reason: unknown) => void;
}

interface Polled {
	readonly source: PolledSource;
	waiting: Waiting | undefined;
	isReading: boolean;
	/** When it was read last. */
	readAtMs: number;
	/** What is known was so then, at least. */
	asOfMs: number;
	/** It was reported as not confirmed in time. */
	isLate: boolean;
}

/**
 * The services of a datacenter for which no query is held. While the index of the catalog stays, none has changed, and nothing is read.
 * When it moves, all of them are read, one after the other at the pace of a budget, and once more a moment later: so a change is seen
 * after N/pace at most, for N services. What is not confirmed for longer than an answer may be live is reported as such.
 */
export class PolledServices {
	readonly #options: PolledServicesOptions;
	readonly #index: CatalogIndex;
	readonly #all = new Set<Polled>();
	readonly #first = new FirstReads<Polled>();
	/** Those that may have changed, the one that waits longest first. */
	readonly #doubtful = new Set<Polled>();
	#movedAtMs: number;
	#firstInRow = 0;
	#reads = 0;
	#pumpTimer: TimerHandle | undefined;
	#tickTimer: TimerHandle | undefined;
	#isStopped = false;

	constructor(options: PolledServicesOptions) {
		this.#options = options;
		this.#movedAtMs = options.http.clock.now();
		this.#index = new CatalogIndex({
			...options,
			moved: (meta) => {
				// Until now all were as they are known, or a lagging server would have shown it.
				const asOfMs = options.http.clock.now() - LAG_MS - meta.ageMs;
				for (const one of this.#all) if (!this.#isDoubtful(one)) one.asOfMs = Math.max(one.asOfMs, asOfMs);
				this.#doubtAll();
			},
			unmoved: (meta) => this.#confirmAll(meta),
			lost: () => this.#doubtAll(),
		});
		this.#tick();
	}

	/** Services that are polled. */
	get size(): number {
		return this.#all.size;
	}

	/** Adds a service. */
	join(source: PolledSource): PolledService {
		const nowMs = this.#options.http.clock.now();
		const never = Number.NEGATIVE_INFINITY;
		const one: Polled = { source, waiting: undefined, isReading: false, readAtMs: never, asOfMs: nowMs, isLate: false };
		this.#all.add(one);
		return {
			fetch: (index, signal) => this.#wait(one, index, signal),
			leave: () => {
				one.waiting = undefined;
				this.#all.delete(one);
				this.#first.delete(one);
				this.#doubtful.delete(one);
			},
		};
	}

	/** Ends the queries for the index, and every read; idempotent. No observer is called after it. */
	stop(): void {
		const { clock } = this.#options.http;
		this.#isStopped = true;
		this.#index.stop();
		for (const one of this.#all) one.waiting = undefined;
		for (const set of [this.#all, this.#first, this.#doubtful]) set.clear();
		for (const timer of [this.#pumpTimer, this.#tickTimer]) clock.clearTimeout(timer);
	}

	#wait(one: Polled, index: number, signal: AbortSignal): Promise<FetchAnswer<Instances>> {
		return new Promise((resolve, reject) => {
			const waiting: Waiting = { isFirst: index === 0, signal, resolve, reject };
			const end = (): void => {
				this.#take(one, waiting);
				reject(signal.reason);
			};
			if (signal.aborted) return end();
			signal.addEventListener('abort', end, { once: true });
			one.waiting = waiting;
			this.#enqueue(one);
			this.#pump();
		});
	}

	/** True if the query still waited, which it does no more. */
	#take(one: Polled, waiting: Waiting): boolean {
		if (one.waiting !== waiting) return false;
		one.waiting = undefined;
		this.#first.delete(one);
		return true;
	}

	/** What is known of it can be outdated. */
	#isDoubtful({ source, readAtMs, asOfMs }: Polled): boolean {
		return !source.isInCatalog || !this.#index.isKnown || Math.min(readAtMs, asOfMs) < this.#movedAtMs + LAG_MS;
	}

	#enqueue(one: Polled): void {
		if (one.waiting === undefined || one.isReading) return;
		if (one.waiting.isFirst) {
			this.#doubtful.delete(one);
			this.#first.add(one);
		} else if (this.#isDoubtful(one)) this.#doubtful.add(one);
	}

	#doubtAll(): void {
		this.#movedAtMs = this.#options.http.clock.now();
		for (const one of [...this.#all]) if (!one.source.endIfUnread()) this.#enqueue(one);
		this.#pump();
	}

	#confirmAll(meta: AnswerMeta): void {
		const asOfMs = this.#options.http.clock.now() - meta.ageMs;
		for (const one of [...this.#all]) {
			if (one.waiting !== undefined && !one.waiting.isFirst && !this.#isDoubtful(one)) this.#confirm(one, asOfMs, meta);
		}
	}

	#confirm(one: Polled, asOfMs: number, meta: AnswerMeta): void {
		one.asOfMs = Math.max(one.asOfMs, asOfMs);
		one.isLate = meta.isUnconfirmed === true;
		one.source.confirmed({ ...meta, ageMs: Math.max(meta.ageMs, this.#options.http.clock.now() - one.asOfMs) });
	}

	#pump(): void {
		const { http, budget } = this.#options;
		while (this.#reads < READS_MAX && !this.#isStopped) {
			const one = this.#next();
			if (one === undefined) return;
			if (one.source.endIfUnread()) {
				// By `leave` as a rule; not where its watch is only being started.
				this.#first.delete(one);
				this.#doubtful.delete(one);
				continue;
			}
			const restMs = one.waiting?.isFirst ? 0 : one.readAtMs + LAG_MS - http.clock.now();
			const waitMs = restMs > 0 ? restMs : budget.take();
			if (waitMs > 0) {
				http.clock.clearTimeout(this.#pumpTimer);
				this.#pumpTimer = http.clock.setTimeout(() => this.#pump(), waitMs);
				return;
			}
			this.#firstInRow = one.waiting?.isFirst ? this.#firstInRow + 1 : 0;
			this.#first.took(one);
			this.#doubtful.delete(one);
			void this.#read(one);
		}
	}

	#next(): Polled | undefined {
		const first = this.#first.next();
		const doubtful = this.#doubtful.values().next().value;
		if (first === undefined || doubtful === undefined) return first ?? doubtful;
		const isDue = doubtful.readAtMs + LAG_MS <= this.#options.http.clock.now();
		return this.#firstInRow >= FIRST_IN_ROW_MAX && isDue ? doubtful : first;
	}

	async #read(one: Polled): Promise<void> {
		const { waiting, source } = one;
		if (waiting === undefined) return;
		this.#reads++;
		one.isReading = true;
		one.readAtMs = this.#options.http.clock.now();
		try {
			const answer = await source.fetch(0, waiting.signal);
			this.#answered(one, waiting, answer);
		} catch (reason) {
			if (this.#take(one, waiting)) waiting.reject(reason);
		} finally {
			this.#reads--;
			one.isReading = false;
			this.#enqueue(one);
			this.#pump();
		}
	}

	#answered(one: Polled, waiting: Waiting, answer: FetchAnswer<Instances>): void {
		if (one.waiting !== waiting) return;
		const { meta = { ageMs: 0 } } = answer;
		const asOfMs = this.#options.http.clock.now() - meta.ageMs;
		const known = one.source.known();
		if (!waiting.isFirst && known !== undefined && isSameAnswer(known, answer.value)) {
			this.#confirm(one, asOfMs, meta);
			return;
		}
		one.asOfMs = asOfMs;
		one.isLate = meta.isUnconfirmed === true;
		this.#take(one, waiting);
		waiting.resolve(answer);
	}

	#tick(): void {
		const { clock } = this.#options.http;
		this.#tickTimer = clock.setTimeout(() => {
			const nowMs = clock.now();
			for (const one of [...this.#all]) {
				if (one.waiting === undefined || one.waiting.isFirst || one.isLate || !this.#isDoubtful(one)) continue;
				if (nowMs - one.asOfMs <= LIVE_AGE_MS_MAX) continue;
				this.#confirm(one, one.asOfMs, { ageMs: nowMs - one.asOfMs, isUnconfirmed: true });
			}
			this.#tick();
		}, TICK_MS);
	}
}
