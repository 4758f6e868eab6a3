import type { SpockError } from '@spock/protocol';
import type { Random, TimerHandle } from '@spock/protocol/internal';

import type { AnswerMeta, BackendObserver, BackendWatch } from '../backend.ts';
import { WatchLoop } from '../watch-loop.ts';
import { type CheckDiff, type CheckDigest, diffChecks, diffNames, type NameDigest } from './check-digest.ts';
import type { ConsulHttp } from './consul-http.ts';
import { readAnsweredChecks, readAnsweredNames } from './read-answer.ts';
import { SharedQuestion, type SharedQuestionOptions } from './shared-question.ts';

/** Re-reads at once: a node that fails may concern hundreds of services. */
const READS_MAX = 16;
/** Every doubtful question is read again within this time, evenly spread. */
const ROUND_MS = 30_000;
/** A doubtful question is not read before this: a server that lags has heard of the change by then. */
const DOUBT_MS_MIN = 1000;
/** What no watch tells (an edit of a node's address or metadata) is seen within this time and a round. */
const SLOW_ROUND_MS = 300_000;
const TICK_MS_MIN = 5;

/** What a {@link SharedWatch} needs. */
export interface SharedWatchOptions {
	readonly http: ConsulHttp;
	/** Where to look, and how: for the two queries that are shared. */
	readonly parameters: Readonly<Record<string, string>>;
	readonly random: Random | undefined;
}

/** What is asked of Consul for one question, and the name under which the shared queries tell of it. */
export interface SharedQuestionSource {
	readonly service: string;
	readonly fetch: SharedQuestionOptions['fetch'];
}

/**
 * Two blocking queries for any number of services of one datacenter: every check there is, and the names with their tags. What
 * they show to have changed is read again at once; what they show only to have changed somewhere (an edit of an address, of
 * weights or metadata, an instance without checks) is read again in a round of 30 s.
 * Source: https://developer.hashicorp.com/consul/api-docs/health#list-checks-in-state
 */
export class SharedWatch {
	readonly #options: SharedWatchOptions;
	readonly #questions = new Set<SharedQuestion>();
	readonly #queue = new Set<SharedQuestion>();
	readonly #doubtful = new Set<SharedQuestion>();
	readonly #checks: WatchLoop<CheckDigest>;
	readonly #names: WatchLoop<NameDigest>;
	/** What the last answers differ in from those before them. */
	#checkDiff: CheckDiff = { services: new Set(), nodes: new Set() };
	#nameDiff: ReadonlySet<string> = new Set();
	#checksState: 'unknown' | 'known' | 'failing' = 'unknown';
	/** The index of the names: it moves with every edit of any service, also where no name and no tag has changed. */
	#nameIndex: number | undefined;
	#nameIndexBefore: number | undefined;
	#reads = 0;
	#roundTimer: TimerHandle | undefined;
	#slowRoundTimer: TimerHandle | undefined;

	constructor(options: SharedWatchOptions) {
		this.#options = options;
		const { http, parameters, random } = options;
		const common = { clock: http.clock, ...(random && { random }) };
		this.#checks = new WatchLoop<CheckDigest>({
			...common,
			fetch: http.blocking({
				parameters,
				send: (client, call) => client.health.state({ ...call, state: 'any' }),
				read: readAnsweredChecks,
			}),
			isSame: (before, after) => {
				this.#checkDiff = diffChecks(before, after);
				return this.#checkDiff.services.size + this.#checkDiff.nodes.size === 0;
			},
			answered: (_digest, meta) => this.#checksAnswered(meta),
			failed: (error) => this.#checksFailed(error),
		});
		const fetchNames = http.blocking({
			parameters,
			send: (client, call) => client.catalog.service.list(call),
			read: readAnsweredNames,
		});
		this.#names = new WatchLoop<NameDigest>({
			...common,
			fetch: async (index, signal) => {
				const answer = await fetchNames(index, signal);
				this.#nameIndex = answer.index;
				return answer;
			},
			// An index that moved is no change to the pace, or edits that concern nobody here would be fetched every second.
			isSame: (before, after) => {
				this.#nameDiff = diffNames(before, after);
				return this.#nameDiff.size === 0;
			},
			answered: () => this.#namesAnswered(),
			failed: () => this.#tellAll('doubted'),
		});
		this.#checks.start();
		this.#names.start();
		this.#armSlowRound();
	}

	/** Questions that are watched. */
	get size(): number {
		return this.#questions.size;
	}

	/** Adds a question; it is read at once. */
	watch(question: SharedQuestionSource, observer: BackendObserver): BackendWatch {
		const { http, random } = this.#options;
		const shared = new SharedQuestion({
			service: question.service,
			fetch: question.fetch,
			observer,
			clock: http.clock,
			random,
			enqueue: (one) => {
				this.#queue.add(one);
				this.#pump();
			},
			doubt: (one) => {
				this.#doubtful.add(one);
				this.#armRound();
			},
		});
		this.#questions.add(shared);
		shared.handle('watch back');
		return {
			stop: () => {
				shared.handle('stop');
				this.#questions.delete(shared);
				this.#queue.delete(shared);
				this.#doubtful.delete(shared);
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
		this.#queue.clear();
		this.#doubtful.clear();
		clock.clearTimeout(this.#roundTimer);
		clock.clearTimeout(this.#slowRoundTimer);
	}

	#checksAnswered(meta: AnswerMeta | undefined): void {
		const isNews = this.#checksState !== 'known';
		this.#checksState = 'known';
		if (isNews) {
			this.#tellAll('watch back');
			return;
		}
		const { services, nodes } = this.#checkDiff;
		const concerned = (question: SharedQuestion): boolean =>
			services.has(question.service) || [...nodes].some((node) => question.isOn(node));
		for (const question of [...this.#questions]) {
			if (concerned(question)) question.handle('concerned');
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
		for (const question of [...this.#questions]) question.handle(names.has(question.service) ? 'concerned' : 'doubted');
	}

	#tellAll(event: 'watch back' | 'doubted' | 'stop'): void {
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

	/** One doubtful question at each tick: all of them within a round, however many there are. */
	#armRound(): void {
		if (this.#roundTimer !== undefined) return;
		const { clock } = this.#options.http;
		this.#roundTimer = clock.setTimeout(
			() => {
				this.#roundTimer = undefined;
				this.#takeTurn(clock.now() - DOUBT_MS_MIN);
				if (this.#doubtful.size > 0) this.#armRound();
			},
			Math.max(TICK_MS_MIN, Math.floor(ROUND_MS / Math.max(1, this.#questions.size))),
		);
	}

	#takeTurn(doubtedBeforeMs: number): void {
		for (const question of this.#doubtful) {
			if (question.state === 'doubtful' && question.doubtedAtMs > doubtedBeforeMs) return;
			this.#doubtful.delete(question);
			if (question.state !== 'doubtful') continue;
			question.handle('turn');
			return;
		}
	}

	#armSlowRound(): void {
		this.#slowRoundTimer = this.#options.http.clock.setTimeout(() => {
			this.#tellAll('doubted');
			this.#armSlowRound();
		}, SLOW_ROUND_MS);
	}
}
