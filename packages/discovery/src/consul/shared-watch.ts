import type { SpockError } from '@spock/protocol';
import type { Random, TimerHandle } from '@spock/protocol/internal';

import type { AnswerMeta, BackendObserver, BackendWatch } from '../backend.ts';
import { type CheckDiff, type CheckDigest, diffChecks, diffNames, type NameDigest } from './check-digest.ts';
import type { ConsulHttp } from './consul-http.ts';
import { LookBudget } from './look-budget.ts';
import { RereadRound } from './reread-round.ts';
import { noticeRestores, RESTORED_AGAIN_MS } from './restore-watch.ts';
import { blockingChecks, blockingNames } from './shared-queries.ts';
import { SharedQuestion, type SharedQuestionOptions } from './shared-question.ts';
import type { ConsulWatch, WatchRecovery } from './watch-recovery.ts';

/** Re-reads at once: a node that fails may concern hundreds of services. */
const READS_MAX = 16;
/** Questions that have changed lately and are remembered for that. */
const LATELY_MAX = 128;
/** Every doubtful question is looked at within this time, evenly spread. */
const LOOK_ROUND_MS = 500;
/** And once more within this time, */
const CONFIRM_ROUND_MS = 30_000;
/** but not before this: a server that lags has heard of the change by then. */
const CONFIRM_MS_MIN = 1000;
/** What no watch tells (an edit of a node's address or metadata) is seen within this time and a round to confirm. */
const SLOW_ROUND_MS = 300_000;

/** What a {@link SharedWatch} needs. */
export interface SharedWatchOptions {
	readonly http: ConsulHttp;
	readonly recovery: WatchRecovery;
	/** Where to look, and how: for the two queries that are shared. */
	readonly parameters: Readonly<Record<string, string>>;
	readonly random: Random | undefined;
}

/** What is asked of Consul for one question, and the name under which the shared queries tell of it. */
export type SharedQuestionSource = Pick<SharedQuestionOptions, 'service' | 'fetch' | 'probe'>;

/**
 * Two blocking queries for any number of services of one datacenter: every check that does not pass, and the names with their
 * tags. What they show to have changed is read again at once. What they show only to have changed somewhere (an edit of an
 * address, of weights or metadata, an instance more or less without a check that fails) is looked for in a round of half a second:
 * each service is asked for its index alone, and read again where that has moved. Edits that go on and concern nobody here are
 * followed more and more seldom.
 */
export class SharedWatch {
	readonly #options: SharedWatchOptions;
	readonly #questions = new Set<SharedQuestion>();
	/** Those that have changed, the last in the last place: they are the likeliest to have changed again, and are looked at first. */
	readonly #lately = new Set<SharedQuestion>();
	readonly #queue = new Set<SharedQuestion>();
	readonly #looks: RereadRound<SharedQuestion>;
	readonly #confirmations: RereadRound<SharedQuestion>;
	readonly #budget: LookBudget;
	readonly #checks: ConsulWatch;
	readonly #names: ConsulWatch;
	/** What the last answers differ in from those before them. */
	#checkDiff: CheckDiff = { services: new Set(), nodes: new Set() };
	#nameDiff: ReadonlySet<string> = new Set();
	#checksState: 'unknown' | 'known' | 'failing' = 'unknown';
	/** The index of the names: it moves with every edit of any service, also where no name and no tag has changed. */
	#nameIndex: number | undefined;
	#nameIndexBefore: number | undefined;
	#reads = 0;
	#restoredTimer: TimerHandle | undefined;
	#slowRoundTimer: TimerHandle | undefined;

	constructor(options: SharedWatchOptions) {
		this.#options = options;
		const { clock } = options.http;
		this.#budget = new LookBudget(clock.now());
		const round = (lengthMs: number, restMs: number, event: 'turn' | 'turn to confirm') =>
			new RereadRound<SharedQuestion>({
				clock,
				lengthMs,
				restMs,
				size: () => this.#questions.size,
				turn: (question) => {
					if (question.state !== 'doubtful') return false;
					question.handle(event);
					return true;
				},
			});
		this.#looks = round(LOOK_ROUND_MS, 0, 'turn');
		this.#confirmations = round(CONFIRM_ROUND_MS, CONFIRM_MS_MIN, 'turn to confirm');
		this.#checks = this.#watchChecks();
		this.#names = this.#watchNames();
		this.#armSlowRound();
	}

	/** Questions that are watched. */
	get size(): number {
		return this.#questions.size;
	}

	/** Adds a question; it is read at once. */
	watch(source: SharedQuestionSource, observer: BackendObserver): BackendWatch {
		const { http, random } = this.#options;
		const shared = new SharedQuestion({
			...source,
			observer,
			clock: http.clock,
			random,
			enqueue: (one) => {
				this.#queue.add(one);
				this.#pump();
			},
			doubt: (one) => this.#looks.add(one),
			awaitConfirmation: (one) => this.#confirmations.add(one),
			changed: (one, wasDoubtful) => {
				if (wasDoubtful) this.#budget.found();
				this.#lately.delete(one);
				this.#lately.add(one);
				const [oldest] = this.#lately;
				if (oldest !== undefined && this.#lately.size > LATELY_MAX) this.#lately.delete(oldest);
			},
		});
		this.#questions.add(shared);
		shared.handle('watch back');
		return {
			stop: () => {
				shared.handle('stop');
				this.#questions.delete(shared);
				this.#lately.delete(shared);
				this.#queue.delete(shared);
				this.#looks.delete(shared);
				this.#confirmations.delete(shared);
			},
		};
	}

	/** Ends both queries and every re-read; idempotent. Nothing is told after it. */
	stop(): void {
		const { clock } = this.#options.http;
		this.#checks.stop();
		this.#names.stop();
		this.#tellAll('stop');
		this.#questions.clear();
		this.#lately.clear();
		this.#queue.clear();
		this.#looks.stop();
		this.#confirmations.stop();
		clock.clearTimeout(this.#restoredTimer);
		clock.clearTimeout(this.#slowRoundTimer);
	}

	#watchChecks(): ConsulWatch {
		const { http, recovery, parameters } = this.#options;
		return recovery.start<CheckDigest>({
			fetch: noticeRestores(blockingChecks(http, parameters), () => this.#restored()),
			isSame: (before, after) => {
				this.#checkDiff = diffChecks(before, after);
				return this.#checkDiff.services.size + this.#checkDiff.nodes.size === 0;
			},
			answered: (_digest, meta) => this.#checksAnswered(meta),
			failed: (error) => this.#checksFailed(error),
		});
	}

	#watchNames(): ConsulWatch {
		const { http, recovery, parameters } = this.#options;
		const fetch = noticeRestores(blockingNames(http, parameters), () => this.#restored());
		return recovery.start<NameDigest>({
			fetch: async (index, signal) => {
				const answer = await fetch(index, signal);
				this.#nameIndex = answer.index;
				return answer;
			},
			// An index that moved is a change to the pace only where it is worth to look for what has, or edits that concern nobody
			// here would be followed every second.
			isSame: (before, after) => {
				this.#nameDiff = diffNames(before, after);
				const isWorthIt = this.#nameIndex !== this.#nameIndexBefore && this.#budget.take(http.clock.now());
				return this.#nameDiff.size === 0 && !isWorthIt;
			},
			answered: () => this.#namesAnswered(),
			failed: () => this.#tellAll('unwatched'),
		});
	}

	/** What had changed since the snapshot is as it was: each service's own index tells of it. */
	#restored(): void {
		const { clock } = this.#options.http;
		this.#tellAll('doubted');
		clock.clearTimeout(this.#restoredTimer);
		this.#restoredTimer = clock.setTimeout(() => {
			this.#checks.reread();
			this.#names.reread();
			this.#tellAll('doubted');
		}, RESTORED_AGAIN_MS);
	}

	#checksAnswered(meta: AnswerMeta | undefined): void {
		const isNews = this.#checksState !== 'known';
		this.#checksState = 'known';
		const { services, nodes } = this.#checkDiff;
		const isConcerned = (question: SharedQuestion): boolean =>
			services.has(question.service) || [...nodes].some((node) => question.isOn(node));
		for (const question of [...this.#questions]) {
			if (isConcerned(question)) question.handle('concerned');
			if (isNews) question.handle('watch back');
			else question.verified(meta);
		}
	}

	#checksFailed(error: SpockError): void {
		this.#checksState = 'failing';
		for (const question of [...this.#questions]) question.lost(error);
	}

	#namesAnswered(): void {
		const before = this.#nameIndexBefore;
		this.#nameIndexBefore = this.#nameIndex;
		if (before === undefined || before === this.#nameIndex) return;
		const names = this.#nameDiff;
		for (const question of new Set([...this.#lately, ...this.#questions])) {
			question.handle(names.has(question.service) ? 'concerned' : 'doubted');
		}
	}

	#tellAll(event: 'doubted' | 'unwatched' | 'stop'): void {
		for (const question of [...this.#questions]) question.handle(event);
	}

	#pump(): void {
		for (const question of this.#queue) {
			if (this.#reads >= READS_MAX) return;
			this.#queue.delete(question);
			if (question.state !== 'queued') continue;
			this.#reads++;
			void question.read().finally(() => {
				this.#reads--;
				this.#pump();
			});
		}
	}

	#armSlowRound(): void {
		this.#slowRoundTimer = this.#options.http.clock.setTimeout(() => {
			for (const question of [...this.#questions]) question.distrust();
			this.#armSlowRound();
		}, SLOW_ROUND_MS);
	}
}
