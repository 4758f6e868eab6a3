import { type AskedBy, type QuestionState, type SnapshotState, SpockError } from '@spock/protocol';
import { ageClockOf, isFinal, step } from '@spock/protocol/internal';

import type { EntryInspection, EntryStatus } from './answer-kind.ts';
import { AnswerWaiters } from './answer-waiters.ts';
import {
	type CacheEntryAction,
	type CacheEntryEvent,
	type CacheEntryState,
	cacheEntryMachine,
	holdOutcome,
} from './cache-entry-machine.ts';
import { EmptyHold, type EmptyHoldContext } from './empty-hold.ts';
import { type DatedAnswer, EntryWatch, WatchOutage } from './entry-watch.ts';
import { KeptAnswer, storedAgeMs } from './kept-answer.ts';
import { EmptyRecheck, Verifier } from './out-of-turn.ts';
import { ServedSnapshot, type ServedSnapshotContext } from './served-snapshot.ts';

/** A query that was last sent so long ago has no readers: the registry is not queried again for it. */
const UNREAD_MS = 10_000;

/** What an entry needs of its cache. */
export interface CacheEntryContext<Q, V extends readonly unknown[], S extends SnapshotState>
	extends ServedSnapshotContext<Q, V, S>,
		Pick<EmptyHoldContext<Q, V>, 'emptyHoldMs'> {
	/** An entry serves another value: the cache counts its bytes. */
	readonly published: (entry: CacheEntry<Q, V, S>) => void;
	/** Evicts the entry of a query if it has no readers; true if it is gone. */
	readonly endIfUnread: (query: Q) => boolean;
	/** See `Backend.confirmsAfterStandstill`. */
	readonly confirmsAfterStandstill?: boolean;
}

/** One query, its watch, its last answer and its readers. */
export class CacheEntry<Q, V extends readonly unknown[], S extends SnapshotState> {
	readonly query: Q;
	readonly waiters: AnswerWaiters;
	/** When a caller last asked; the cache evicts by it. */
	usedAtMs: number;
	/** Read since the last sweep, which turns this into a time. */
	peeked = false;
	/** The asker whose share it counts against: the only one so far; undefined once there are others. */
	asker: AskedBy['asker'];
	/** About how much memory it takes, as the cache counts it. */
	bytes = 0;
	readonly #context: CacheEntryContext<Q, V, S>;
	/** What is served, and how old it is. */
	readonly served: ServedSnapshot<Q, V, S>;
	readonly #hold: EmptyHold<Q, V>;
	readonly #recheck: EmptyRecheck;
	readonly #verifier: Verifier;
	readonly #kept: KeptAnswer<V>;
	readonly #outage: WatchOutage<Q>;
	readonly #watch: EntryWatch<V>;
	#state: CacheEntryState = 'cold';
	/** The last answer that was not outdated. */
	#answer: DatedAnswer<V> | undefined;
	/** The served value is empty, and need not be held back by those that it is published to. */
	#isEmptied = false;
	#error: SpockError | undefined;

	constructor(query: Q, context: CacheEntryContext<Q, V, S>) {
		const { clock, emptyHoldMs, kind, confirmsAfterStandstill, endIfUnread } = context;
		this.query = query;
		this.#context = context;
		const ended = (): void => {
			this.usedAtMs = clock.now();
		};
		this.waiters = new AnswerWaiters(clock, ended, () => this.#watch.retry());
		this.served = new ServedSnapshot(query, context);
		this.#hold = new EmptyHold(query, context);
		this.#recheck = new EmptyRecheck(clock, emptyHoldMs, () => {
			if (this.served.observers.size > 0 || this.isInUse) this.#restartWatch();
		});
		this.#verifier = new Verifier(clock, () => this.#restartWatch());
		this.#kept = new KeptAnswer(clock, () => this.#restore());
		this.#outage = new WatchOutage(query, context);
		this.#watch = new EntryWatch({
			...{ clock, confirmsAfterStandstill },
			start: (observer) => kind.watch(query, { ...observer, endIfUnread: () => endIfUnread(query) }),
			answered: (answer) => this.#answered(answer),
			failed: (error) => this.#failed(error),
		});
		this.usedAtMs = clock.now();
	}

	/** The last error of the watch while it fails. */
	get error(): SpockError | undefined {
		return this.#error;
	}

	/** True while the registry confirms the served value. */
	get isFresh(): boolean {
		return this.#state === 'fresh';
	}

	/** True while the served value is not confirmed by the registry, and must not be forgotten. */
	get isLastKnown(): boolean {
		return this.#state === 'stale' || this.#state === 'held' || this.#state === 'confirming';
	}

	/** True if a caller has just asked, whether or not it has observers. */
	get isInUse(): boolean {
		return this.peeked || this.usedAtMs > this.#context.clock.now() - UNREAD_MS;
	}

	/**
	 * This process has not run since then, by the age clock: what is known, and what has been read since, is last known until the registry
	 * was asked again.
	 */
	stoodStill(): void {
		if (!this.isFresh && (this.#state !== 'stale' || this.#error !== undefined)) return;
		this.#handle('stood still');
		this.#confirmAnew();
	}

	/** Starts the watch. The backend may answer before this returns. */
	open(): void {
		const reading = this.#context.kind.load(this.query);
		if (reading !== undefined) this.#kept.load(reading);
		this.#watch.start();
	}

	/** The snapshot to serve now: the live one, or a copy of the last known one with its age; undefined if neither. */
	read(): S | undefined {
		return this.served.read(this.isFresh);
	}

	/** As `read`, with the time of the last verification, which is not published while nothing changes. */
	readVerified(): S | undefined {
		return this.served.readVerified(this.isFresh);
	}

	/** Why nothing can be served although the registry has answered; undefined before its first answer. */
	refusal(): SpockError | undefined {
		if (!this.isLastKnown) return this.served.value === undefined ? this.#error : undefined;
		return this.read() === undefined ? this.served.tooOldError(this.#error) : undefined;
	}

	/** Why a caller need not wait; undefined if a later answer may be in time for it. */
	finalRefusal(): SpockError | undefined {
		return this.#error !== undefined && isFinal(this.#error) ? this.#error : undefined;
	}

	status(): EntryStatus<V> {
		const { value, revision } = this.served;
		return {
			value,
			state: this.#questionState,
			revision,
			readers: this.served.observers.size,
			ageMs: this.isLastKnown ? this.served.ageMs : 0,
			error: this.#error?.message ?? null,
		};
	}

	/** Everything known, for explain. */
	inspect(): EntryInspection<Q, V, S> {
		return {
			query: this.query,
			value: this.served.value,
			snapshot: this.readVerified(),
			state: this.#questionState,
			error: (this.refusal() ?? this.#error)?.message ?? null,
			held: this.#hold.status(),
			changedAt: this.served.changedAt,
			readers: this.served.observers.size,
		};
	}

	/** Queries the registry out of turn, and settles waiting callers with the outcome. Only while the entry is fresh. */
	verify(): void {
		if (this.isFresh) this.#verifier.request();
	}

	/**
	 * This process is deregistering a part of the served value: for the time of a hold, an empty answer is believed if nothing else was
	 * served. Anything else that is missing is held.
	 */
	expectGone(part: string): void {
		const served = this.served.value;
		if (served === undefined) return;
		this.#hold.expectGone(part);
		if (this.#hold.isExpected(served)) this.#explained();
	}

	/** A caller has asked. */
	used(): void {
		this.usedAtMs = this.#context.clock.now();
		this.#watch.used();
	}

	/** Ends the watch because it has no readers. */
	evict(): void {
		this.#handle('idle');
	}

	/** Ends the watch and rejects waiting callers with CLOSED. */
	close(): void {
		this.#error = new SpockError('CLOSED', 'the source of services was closed');
		this.#handle('close');
		this.served.observers.clear();
	}

	get #questionState(): QuestionState {
		if (this.#state === 'evicted') return 'cold';
		return this.#state === 'confirming' ? 'held' : this.#state;
	}

	/** Starts a new watch, which queries at once; the old one continues if that fails. */
	#restartWatch(): void {
		if (!this.isFresh) return;
		this.#watch.restart((error) => {
			this.#verifier.done();
			this.waiters.reject(error);
		});
	}

	/** Starts a new watch to confirm what is not believed: the old watch would wait for a change. */
	#confirmAnew(): void {
		this.#watch.restart((error) => this.#failed(error));
	}

	#answered(answer: DatedAnswer<V>): void {
		const { value, isUnconfirmed, isEmptied: isBelieved, isLate } = answer;
		// Compare an empty answer with that of an earlier process: the registry may have lost its data in between. One from the memory of
		// another process may be older.
		if ((value.length === 0 || isUnconfirmed) && this.#kept.defer(() => this.#answered(answer))) return;
		if (this.#state === 'evicted') return;
		const { kind } = this.#context;
		if (!isBelieved && this.#hold.isDue(this.#kept.value ?? kind.nothing, value)) this.#restore();
		if (this.#isOutdated(answer)) return;
		this.#isEmptied = value.length === 0 && (this.#isEmptied || isBelieved);
		this.#outage.ended();
		this.#error = undefined;
		this.#answer = answer;
		const how = isLate ? 'late' : 'answered';
		const served = this.served.value;
		if (served !== undefined && kind.isSame(served, value)) {
			// An unchanged list keeps its objects, for which readers memoise.
			this.#handle(`${how}, same`, served);
		} else {
			const isHeld = served !== undefined && !isBelieved && this.#hold.isDue(served, value);
			const isConfirming = this.#state === 'confirming';
			const isLateAgain = isHeld && isConfirming && how === 'late';
			// A late answer does not confirm; the next one may. From an address that is always late, none does.
			if (isLateAgain && !this.#hold.isLong) {
				this.#hold.onLong(() => this.#confirmAnew());
				return;
			}
			const isEmptied = isHeld && !isLateAgain;
			this.#handle(isEmptied ? 'emptied' : `${how}, different`, isHeld && !isConfirming ? served : value);
		}
	}

	/** True for an answer from memory that is older than what is served, or was stored by an earlier process, which is then served. */
	#isOutdated({ isUnconfirmed, vouchedAtMs }: DatedAnswer<V>): boolean {
		if (!isUnconfirmed) return false;
		const { clock } = this.#context;
		const answerAgeMs = ageClockOf(clock).now() - vouchedAtMs;
		const { verifiedAt } = this.#kept;
		if (verifiedAt !== undefined && clock.wallNow() - verifiedAt < answerAgeMs) this.#restore();
		return this.#state === 'stale' && this.served.ageMs < answerAgeMs;
	}

	#failed(error: SpockError): void {
		if (this.#kept.defer(() => this.#failed(error)) || this.#state === 'evicted') return;
		this.#error = error;
		this.#outage.failed(error, (this.served.value ?? this.#kept.value) !== undefined);
		if (!this.#restore()) this.#handle('failed');
	}

	/** Serves the answer of an earlier process; false if there is none. */
	#restore(): boolean {
		const kept = this.#kept.take();
		if (kept === undefined) return false;
		const { clock, kind, onEvent } = this.#context;
		const ageMs = storedAgeMs(kept.verifiedAt, clock.wallNow());
		this.served.verified(ageClockOf(clock).now() - ageMs);
		onEvent({ type: 'state-restored', what: kind.nameOf(this.query), ageMs });
		this.#handle('restored', kept.value);
		return true;
	}

	/** `value` is served from now on. Default: the served one. */
	#handle(event: CacheEntryEvent, value: V = this.served.value ?? this.#context.kind.nothing): void {
		const { state, actions } = step(cacheEntryMachine, this.#state, event);
		this.#state = state;
		if (event !== 'hold over' && event !== 'hold due' && event !== 'restored') this.#verifier.done();
		if (state !== 'cold') this.#kept.drop();
		for (const action of actions) this.#act(action, event, value);
		// A list that is maintained by hand is not doubted.
		const isDoubtful = this.served.value?.length === 0 && !this.#context.kind.trustsEmpty(this.query);
		if (this.#state === 'fresh') this.#recheck.answered(isDoubtful);
		else this.#recheck.stop();
	}

	#act(action: CacheEntryAction, event: CacheEntryEvent, value: V): void {
		switch (action) {
			case 'verify':
				if (this.#answer !== undefined) this.served.verified(this.#answer.answeredAtMs, this.#answer.vouchedAtMs);
				if (event === 'answered, same') this.served.keep();
				return;
			case 'publish':
				this.#publish(value);
				return;
			case 'settle waiters':
				this.waiters.settle();
				return;
			case 'report the failure':
				if (this.#error === undefined) return;
				this.waiters.failed(this.#error);
				if (this.#state === 'cold') this.served.reportError(this.#error);
				return;
			case 'reject waiters':
				if (this.#error !== undefined) this.waiters.reject(this.#error);
				return;
			case 'start the hold':
				this.#hold.start(
					value.length,
					() => this.#handle('hold due'),
					() => this.#explained(),
				);
				return;
			case 'ask anew':
				this.#confirmAnew();
				return;
			case 'end the hold':
				this.#hold.end(holdOutcome(event, value.length === 0));
				return;
			case 'stop the watch':
				this.#watch.stop();
				return;
		}
	}

	#publish(value: V): void {
		const { kind, emptyHoldMs } = this.#context;
		if (this.#state !== 'fresh' && this.#state !== 'held' && this.#state !== 'stale') return;
		const isEmpty = value.length === 0;
		// It was held back here, or there was a reason not to.
		this.#isEmptied ||= emptyHoldMs > 0 && (this.served.value ?? kind.nothing).length > 0;
		this.#isEmptied &&= isEmpty;
		const isNew = this.served.value !== value;
		this.served.publish(value, this.#state, this.#isEmptied);
		if (isNew) this.#context.published(this);
	}

	/** The empty answer has an explanation other than a registry that lost its data. */
	#explained(): void {
		if (this.#state === 'held' || this.#state === 'confirming') this.#handle('hold over', this.#context.kind.nothing);
	}
}
