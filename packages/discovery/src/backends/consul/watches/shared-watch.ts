import type { ServiceInstance } from '@spock/protocol';
import type { TimerHandle } from '@spock/protocol/internal';

import type { AnswerMeta } from '../../../foundation/backend.ts';
import type { FetchAnswer } from '../../../watch/watch-loop.ts';
import { type ConsulHttp, LIVE_AGE_MS_MAX } from '../http/consul-http.ts';
import { type CheckDiff, type CheckDigest, diffChecks } from './check-digest.ts';
import type { QueryBudget } from './query-budget.ts';
import { readAnsweredChecks, readAnsweredIndex } from './read-answer.ts';
import { noticeRestores, RESTORED_AGAIN_MS } from './restore-watch.ts';
import { SharedQuestion, type SharedQuestionOptions } from './shared-question.ts';
import { UrgentQuestions } from './urgent-questions.ts';
import type { ConsulWatch, WatchRecovery } from './watch-recovery.ts';

/** Nearly all checks pass: without those the response is thousands of times smaller, and each change of a check still brings one. */
const NOT_PASSING = 'Status != "passing"';
/** No service has this name. */
const NO_NAME = 'ServiceName == ""';
/** Reads at once: a node that fails may concern hundreds of services. */
const READS_MAX = 16;
/** Lookups and known changes may never stop: after this many in a row, a query that may have changed has its turn. */
const URGENT_IN_ROW_MAX = 3;
/** How often to look for answers that were not confirmed in time, or are due for a routine read. */
const TICK_MS = 1000;
/** For so long those that were answered are not counted again. */
const COUNT_MS = 100;
/** Neither of the two queries reports an edit of a node's address or metadata; it is seen within this time. */
const READ_MS_MAX = 300_000;

type Parameters = Readonly<Record<string, string>>;
/** One query: blocks while the index is `index`; 0 does not block. */
type Blocking<T> = (index: number, signal: AbortSignal) => Promise<FetchAnswer<T>>;

/** What a {@link SharedWatch} needs. */
export interface SharedWatchOptions {
	readonly http: ConsulHttp;
	readonly recovery: WatchRecovery;
	/** Where to look, and how: for the two queries that are shared. */
	readonly parameters: Readonly<Record<string, string>>;
	/** Of all such watches together. */
	readonly budget: QueryBudget;
}

/** How one query is read, and what is notified when its answer is confirmed. */
export type SharedQuestionSource = Pick<
	SharedQuestionOptions,
	'service' | 'isTold' | 'fetch' | 'probe' | 'isKnown' | 'endIfUnread' | 'confirmed'
>;

/**
 * An answer that counts as changed whenever its index has moved: edits that concern no query here are followed each second, and
 * not at the pace of a watch whose answers never change, because an answer that is not confirmed for longer is not live.
 */
interface Indexed<T> {
	readonly value: T;
	readonly index: number;
}

/** One question's part of a shared watch. */
export interface SharedQuery {
	/** One query: resolves when the index is not `index` any more; with 0 as soon as its turn has come. */
	fetch(index: number, signal: AbortSignal): Promise<FetchAnswer<readonly ServiceInstance[]>>;
	/** Idempotent; the query's observer is not called after it. */
	leave(): void;
}

/**
 * Stands in for a blocking query for those services of a datacenter for which no query is held. Two queries are held for all of
 * them: the checks that do not pass, which show what a change concerns, and the index of the catalog, which moves with every edit
 * of any service and shows no more than that. Then every service that may have changed is queried for its own index, one after the
 * other, as fast as a budget allows; an answer that was not confirmed for too long is not called live.
 */
export class SharedWatch {
	readonly #options: SharedWatchOptions;
	readonly #questions = new Set<SharedQuestion>();
	/** Queries that wait for a turn: those known to have changed or never read go first, then the one that waits longest. */
	readonly #urgent = new UrgentQuestions<SharedQuestion>();
	readonly #doubtful = new Set<SharedQuestion>();
	readonly #checks: ConsulWatch;
	readonly #index: ConsulWatch;
	/** Those of the two that fail: then no more is asked than the pace allows. */
	readonly #failing = new Set<'checks' | 'index'>();
	/** Questions that have had no turn since one of the two failed. */
	readonly #unsure = new Set<SharedQuestion>();
	/** Questions that were answered before, and when they were counted. */
	#known = { count: 0, atMs: Number.NEGATIVE_INFINITY };
	#urgentInRow = 0;
	#reads = 0;
	#turnTimer: TimerHandle | undefined;
	#tickTimer: TimerHandle | undefined;
	#restoredTimer: TimerHandle | undefined;
	#isStopped = false;

	constructor(options: SharedWatchOptions) {
		this.#options = options;
		this.#checks = this.#watchChecks();
		this.#index = this.#watchIndex();
		this.#tick();
	}

	/** Questions that are watched. */
	get size(): number {
		return this.#questions.size;
	}

	/** Adds a question. */
	join(source: SharedQuestionSource): SharedQuery {
		const question = new SharedQuestion({
			...source,
			clock: this.#options.http.clock,
			enqueue: (one, isUrgent) => {
				if (isUrgent) this.#doubtful.delete(one);
				// One that waits already keeps its place.
				if (isUrgent) this.#urgent.add(one);
				else if (!this.#urgent.has(one)) this.#doubtful.add(one);
				this.#pump();
			},
		});
		this.#questions.add(question);
		return {
			fetch: (index, signal) => question.wait(index, signal),
			leave: () => {
				question.stop();
				this.#questions.delete(question);
				this.#urgent.delete(question);
				this.#doubtful.delete(question);
				this.#unsure.delete(question);
			},
		};
	}

	/** Ends both queries and every read; idempotent. No observer is called after it. */
	stop(): void {
		const { clock } = this.#options.http;
		this.#isStopped = true;
		this.#checks.stop();
		this.#index.stop();
		for (const question of this.#questions) question.stop();
		for (const set of [this.#questions, this.#urgent, this.#doubtful, this.#unsure]) set.clear();
		for (const timer of [this.#turnTimer, this.#tickTimer, this.#restoredTimer]) clock.clearTimeout(timer);
	}

	#watchChecks(): ConsulWatch {
		const { http, recovery, parameters } = this.#options;
		let before: CheckDigest | undefined;
		return recovery.start<Indexed<CheckDigest>>({
			fetch: indexed(noticeRestores(blockingChecks(http, parameters), () => this.#restored())),
			isSame: isSameIndex,
			answered: ({ value }, meta) => {
				this.#failing.delete('checks');
				if (before !== undefined) this.#tellConcerned(diffChecks(before, value));
				before = value;
				this.#confirm(meta);
			},
			failed: () => this.#failed('checks'),
		});
	}

	#failed(which: 'checks' | 'index'): void {
		this.#failing.add(which);
		for (const question of this.#questions) this.#unsure.add(question);
		this.#doubtAll();
	}

	#tellConcerned({ services, nodes }: CheckDiff): void {
		for (const question of [...this.#questions]) {
			if (services.has(question.service) || [...nodes].some((node) => question.isOn(node))) question.concern();
		}
	}

	#watchIndex(): ConsulWatch {
		const { http, recovery, parameters } = this.#options;
		let before: number | undefined;
		return recovery.start<Indexed<true>>({
			fetch: indexed(noticeRestores(blockingCatalogIndex(http, parameters), () => this.#restored())),
			isSame: isSameIndex,
			answered: ({ index }, meta) => {
				this.#failing.delete('index');
				if (before !== undefined && before !== index) this.#doubtAll();
				before = index;
				this.#confirm(meta);
			},
			failed: () => this.#failed('index'),
		});
	}

	/** A change of some services confirms the others; a late answer confirms none. */
	#confirm(meta: AnswerMeta | undefined): void {
		if (meta?.isUnconfirmed) this.#doubtAll();
		else for (const question of [...this.#questions]) question.unchanged(meta?.ageMs ?? 0);
	}

	/** Changes since the snapshot are undone: each service's own index shows them. */
	#restored(): void {
		const { clock } = this.#options.http;
		this.#doubtAll();
		// Its last question may just have ended.
		if (this.#isStopped) return;
		clock.clearTimeout(this.#restoredTimer);
		this.#restoredTimer = clock.setTimeout(() => {
			this.#checks.reread();
			this.#index.reread();
			this.#doubtAll();
		}, RESTORED_AGAIN_MS);
	}

	#doubtAll(): void {
		// A query without readers ends, and is not sent again.
		for (const question of [...this.#questions]) if (!question.endIfUnread()) question.doubt();
	}

	#pump(): void {
		const { http } = this.#options;
		while (this.#reads < READS_MAX && !this.#isStopped) {
			const question = this.#next();
			if (question === undefined) return;
			if (question.endIfUnread()) {
				// By `leave` as a rule; not where its watch is only being started.
				this.#urgent.delete(question);
				this.#doubtful.delete(question);
				continue;
			}
			const restMs = question.dueAtMs - http.clock.now();
			const waitMs = restMs > 0 ? restMs : this.#take(question);
			if (waitMs > 0) {
				this.#pumpIn(waitMs);
				return;
			}
			this.#urgentInRow = this.#urgent.has(question) ? this.#urgentInRow + 1 : 0;
			this.#urgent.took(question);
			this.#doubtful.delete(question);
			if (this.#failing.size === 0) this.#unsure.delete(question);
			this.#reads++;
			void question.turn().finally(() => {
				this.#reads--;
				this.#pump();
			});
		}
	}

	/** How long to wait until it may be asked; 0: now. Names that were never answered live on the plain budget alone. */
	#take(question: SharedQuestion): number {
		const { budget } = this.#options;
		if (this.#failing.size === 0 && question.isKnown) {
			const isUnsure = question.waitsForAny || this.#unsure.has(question);
			if (isUnsure && budget.takeLent(this.#countKnown())) return 0;
			if (budget.takeSaved(this.#countKnown())) return 0;
		}
		return budget.take();
	}

	#countKnown(): number {
		const nowMs = this.#options.http.clock.now();
		if (nowMs - this.#known.atMs >= COUNT_MS) {
			let count = 0;
			for (const { isKnown } of this.#questions) if (isKnown) count++;
			this.#known = { count, atMs: nowMs };
		}
		return this.#known.count;
	}

	#next(): SharedQuestion | undefined {
		const nowMs = this.#options.http.clock.now();
		const urgent = this.#urgent.next(nowMs);
		const doubtful = this.#doubtful.values().next().value;
		if (urgent === undefined || doubtful === undefined) return urgent ?? doubtful;
		const isTurnOfDoubtful = this.#urgentInRow >= URGENT_IN_ROW_MAX && doubtful.dueAtMs <= nowMs;
		return isTurnOfDoubtful ? doubtful : urgent;
	}

	#pumpIn(delayMs: number): void {
		const { clock } = this.#options.http;
		clock.clearTimeout(this.#turnTimer);
		this.#turnTimer = clock.setTimeout(() => this.#pump(), delayMs);
	}

	#tick(): void {
		this.#tickTimer = this.#options.http.clock.setTimeout(() => {
			for (const question of [...this.#questions])
				question.look({ liveAgeMsMax: LIVE_AGE_MS_MAX, readMsMax: READ_MS_MAX });
			this.#tick();
		}, TICK_MS);
	}
}

function indexed<T>(fetch: Blocking<T>): Blocking<Indexed<T>> {
	return async (from, signal) => {
		const answer = await fetch(from, signal);
		return { ...answer, value: { value: answer.value, index: answer.index } };
	};
}

function isSameIndex(before: Indexed<unknown>, after: Indexed<unknown>): boolean {
	return before.index === after.index;
}

/**
 * Every check of a datacenter that does not pass.
 * Source: https://developer.hashicorp.com/consul/api-docs/health#list-checks-in-state
 */
function blockingChecks(http: ConsulHttp, parameters: Parameters): Blocking<CheckDigest> {
	return http.blocking({
		parameters: { ...parameters, filter: NOT_PASSING },
		send: (client, call) => client.health.state({ ...call, state: 'any' }),
		read: readAnsweredChecks,
	});
}

/**
 * The index of the catalog of a datacenter: it moves with every edit of any service. The names are left out.
 * Source: https://developer.hashicorp.com/consul/api-docs/catalog#list-services
 */
function blockingCatalogIndex(http: ConsulHttp, parameters: Parameters): Blocking<true> {
	return http.blocking({
		parameters: { ...parameters, filter: NO_NAME },
		send: (client, call) => client.catalog.service.list(call),
		read: readAnsweredIndex,
	});
}
