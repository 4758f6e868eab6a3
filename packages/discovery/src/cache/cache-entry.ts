import { type QuestionState, type SnapshotObserver, type SnapshotState, SpockError } from '@spock/protocol';
import { step } from '@spock/protocol/internal';

import type { AnswerMeta, BackendWatch } from '../foundation/backend.ts';
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
import { KeptAnswer } from './kept-answer.ts';
import { EmptyRecheck, Verifier } from './out-of-turn.ts';
import { ServedSnapshot, type ServedSnapshotContext } from './served-snapshot.ts';
import { WatchOutage } from './watch-outage.ts';

/** Nobody reads a question any more that was last asked for so long ago: a registry is not asked again for it. */
const UNREAD_MS = 10_000;
/** What an entry needs from its cache. */
export interface CacheEntryContext<Q, V extends readonly unknown[], S extends SnapshotState>
	extends ServedSnapshotContext<Q, V, S>,
		Pick<EmptyHoldContext<Q, V>, 'emptyHoldMs'> {
	/** Evicts the entry of a question if nobody reads it; true if it is gone. */
	readonly endIfUnread: (query: Q) => boolean;
}

/** One question, its watch, its last answer and its readers. */
export class CacheEntry<Q, V extends readonly unknown[], S extends SnapshotState> {
	readonly query: Q;
	readonly waiters: AnswerWaiters;
	/** When somebody last asked; the cache evicts by it. */
	usedAtMs: number;
	/** Read since the last sweep, which turns this into a time. */
	peeked = false;
	/** Whose share it counts against: that of the only one who has asked so far; undefined once there are others. */
	asker: string | number | undefined;
	readonly #context: CacheEntryContext<Q, V, S>;
	readonly #served: ServedSnapshot<Q, V, S>;
	readonly #hold: EmptyHold<Q, V>;
	readonly #recheck: EmptyRecheck;
	readonly #verifier: Verifier;
	readonly #kept: KeptAnswer<V>;
	readonly #outage: WatchOutage<Q>;
	#watch: BackendWatch | undefined;
	#state: CacheEntryState = 'cold';
	#answeredAtMs = 0;
	#error: SpockError | undefined;

	constructor(query: Q, context: CacheEntryContext<Q, V, S>) {
		const { clock, emptyHoldMs } = context;
		this.query = query;
		this.#context = context;
		this.waiters = new AnswerWaiters(clock, () => {
			this.usedAtMs = clock.now();
		});
		this.#served = new ServedSnapshot(query, context);
		this.#hold = new EmptyHold(query, context);
		this.#recheck = new EmptyRecheck(clock, emptyHoldMs, () => this.#askAgain());
		this.#verifier = new Verifier(clock, () => this.#restartWatch());
		this.#kept = new KeptAnswer(clock, () => this.#restore());
		this.#outage = new WatchOutage(query, context);
		this.usedAtMs = clock.now();
	}

	get observers(): Set<SnapshotObserver<S>> {
		return this.#served.observers;
	}

	/** The last error of the watch while it fails. */
	get error(): SpockError | undefined {
		return this.#error;
	}

	/** True while the registry confirms what is served. */
	get isFresh(): boolean {
		return this.#state === 'fresh';
	}

	/** True while there is nothing to serve, or a list with nothing in it: what a misspelt or made-up name has. */
	get isEmpty(): boolean {
		return (this.#served.value?.length ?? 0) === 0;
	}

	/** True while something is served that the registry does not confirm: this is no time to forget it. */
	get isLastKnown(): boolean {
		return this.#state === 'stale' || this.#state === 'held' || this.#state === 'confirming';
	}

	/** True if somebody has just asked, whether or not anybody is told of its changes. */
	get isInUse(): boolean {
		return this.peeked || this.usedAtMs > this.#context.clock.now() - UNREAD_MS;
	}

	/** Since the registry confirmed what is served, in milliseconds. */
	get ageMs(): number {
		return this.#served.ageMs;
	}

	/** Starts the watch. The backend may answer before this returns. */
	open(): void {
		const reading = this.#context.kind.load(this.query);
		if (reading !== undefined) this.#kept.load(reading);
		this.#startWatch();
	}

	/** What can be served now: the live snapshot, or a copy of the last known one with its age; undefined if neither. */
	read(): S | undefined {
		return this.#served.read(this.isFresh);
	}

	/** As `read`, with the time of the last verification, which nobody was told where nothing had changed. */
	readVerified(): S | undefined {
		return this.#served.readVerified(this.isFresh);
	}

	/** Why nothing can be served although the registry has spoken; undefined while its first word is awaited. */
	refusal(): SpockError | undefined {
		if (!this.isLastKnown) return this.#served.value === undefined ? this.#error : undefined;
		if (this.read() !== undefined) return undefined;
		const { kind, staleMaxMs } = this.#context;
		const name = kind.nameOf(this.query);
		const ageMs = Math.round(this.ageMs);
		const message = `the last known answer for ${JSON.stringify(name)} is ${ageMs} ms old, over the limit of ${staleMaxMs} ms`;
		const details = { [kind.noun]: name, ageMs, staleMaxMs };
		return new SpockError('UNAVAILABLE', message, { details, cause: this.#error });
	}

	status(): EntryStatus<V> {
		const { value, revision } = this.#served;
		return {
			value,
			state: this.#questionState,
			revision,
			readers: this.observers.size,
			ageMs: this.isLastKnown ? this.ageMs : 0,
			error: this.#error?.message ?? null,
		};
	}

	/** Everything that is known, for explain. */
	inspect(): EntryInspection<Q, V, S> {
		return {
			query: this.query,
			value: this.#served.value,
			snapshot: this.readVerified(),
			state: this.#questionState,
			error: (this.refusal() ?? this.#error)?.message ?? null,
			held: this.#hold.status(),
			changedAt: this.#served.changedAt,
			readers: this.observers.size,
		};
	}

	/** Asks the registry out of turn; whoever waits is told the outcome. Only while the entry is fresh. */
	verify(): void {
		if (this.isFresh) this.#verifier.request();
	}

	/**
	 * This process is taking out a part of what is served: for the time of a hold, an answer that nothing is left is believed where
	 * nothing else was served. Whatever else is missing is held.
	 */
	expectGone(part: string): void {
		const served = this.#served.value;
		if (served === undefined) return;
		this.#hold.expectGone(part);
		const isHeld = this.#state === 'held' || this.#state === 'confirming';
		if (isHeld && this.#hold.isExpected(served)) this.#handle('hold over', this.#context.kind.nothing);
	}

	/** Somebody has asked. */
	used(): void {
		this.usedAtMs = this.#context.clock.now();
		this.#watch?.used?.();
	}

	/** Ends the watch because nobody reads any more. */
	evict(): void {
		this.#handle('idle');
	}

	/** Ends the watch and rejects whoever waits with CLOSED. */
	close(): void {
		this.#error = new SpockError('CLOSED', 'the source of services was closed');
		this.#handle('close');
		this.observers.clear();
	}

	get #questionState(): QuestionState {
		if (this.#state === 'evicted') return 'cold';
		return this.#state === 'confirming' ? 'held' : this.#state;
	}

	#startWatch(): void {
		const before = this.#watch;
		this.#watch = this.#context.kind.watch(this.query, {
			answered: (value, meta = { ageMs: 0 }) => this.#answered(value, meta),
			failed: (error) => this.#failed(error),
			endIfUnread: () => this.#context.endIfUnread(this.query),
		});
		before?.stop();
		// Whoever was told before this returned may have ended the entry.
		if (this.#state === 'evicted') this.#watch.stop();
	}

	/** A new watch asks at once; the one before goes on where that cannot be had. */
	#restartWatch(): void {
		if (!this.isFresh) return;
		try {
			this.#startWatch();
		} catch (reason) {
			this.#verifier.done();
			this.waiters.reject(SpockError.from(reason));
		}
	}

	/** That nothing is left was said by one answer, after which a watch waits for a change: a new watch asks what there is. */
	#confirmEmpty(): void {
		try {
			this.#startWatch();
		} catch (reason) {
			this.#failed(SpockError.from(reason));
		}
	}

	/** As `#confirmEmpty`, of an answer that is believed: only for those who read it. */
	#askAgain(): void {
		if (this.observers.size > 0 || this.isInUse) this.#restartWatch();
	}

	#answered(value: V, meta: AnswerMeta, cameAtMs: number = this.#context.clock.now()): void {
		// An empty answer must meet what an earlier process kept: the registry may have lost its data while this one was away.
		if (value.length === 0 && this.#kept.defer(() => this.#answered(value, meta, cameAtMs))) return;
		if (this.#state === 'evicted') return;
		const { kind } = this.#context;
		if (this.#hold.isDue(this.#kept.value ?? kind.nothing, value)) this.#restore();
		this.#outage.ended();
		this.#error = undefined;
		this.#answeredAtMs = cameAtMs - meta.ageMs;
		const how = meta.isUnconfirmed ? 'late' : 'answered';
		const served = this.#served.value;
		if (served !== undefined && kind.isSame(served, value)) {
			// An unchanged list keeps its old objects: what readers memoised for each part stays good.
			this.#handle(`${how}, same`, served);
		} else {
			const isHeld = served !== undefined && this.#hold.isDue(served, value);
			const isConfirming = this.#state === 'confirming';
			const isLateAgain = isHeld && isConfirming && how === 'late';
			// Who is asked anew must know it for sure: the next answer may. An address that is always late never does.
			if (isLateAgain && !this.#hold.isLong) {
				this.#hold.onLong(() => this.#confirmEmpty());
				return;
			}
			const isEmptied = isHeld && !isLateAgain;
			this.#handle(isEmptied ? 'emptied' : `${how}, different`, isHeld && !isConfirming ? served : value);
		}
	}

	#failed(error: SpockError): void {
		if (this.#kept.defer(() => this.#failed(error)) || this.#state === 'evicted') return;
		this.#error = error;
		this.#outage.failed(error, (this.#served.value ?? this.#kept.value) !== undefined);
		if (!this.#restore()) this.#handle('failed');
	}

	/** Serves what an earlier process kept; false if there is nothing. */
	#restore(): boolean {
		const kept = this.#kept.take();
		if (kept === undefined) return false;
		const { clock, kind, onEvent } = this.#context;
		const ageMs = Math.max(0, clock.wallNow() - kept.verifiedAt);
		this.#served.verified(clock.now() - ageMs);
		onEvent({ type: 'state-restored', what: kind.nameOf(this.query), ageMs });
		this.#handle('restored', kept.value);
		return true;
	}

	/** `value` is what to serve from now on. Default: what is served. */
	#handle(event: CacheEntryEvent, value: V = this.#served.value ?? this.#context.kind.nothing): void {
		const { state, actions } = step(cacheEntryMachine, this.#state, event);
		this.#state = state;
		if (event !== 'hold over' && event !== 'hold due' && event !== 'restored') this.#verifier.done();
		if (state !== 'cold') this.#kept.drop();
		for (const action of actions) this.#act(action, event, value);
		if (this.#state === 'fresh') this.#recheck.answered(this.#isDoubtful);
		else this.#recheck.stop();
	}

	/** Nothing is served, and that is no list which somebody keeps by hand. */
	get #isDoubtful(): boolean {
		return this.#served.value?.length === 0 && !this.#context.kind.trustsEmpty(this.query);
	}

	#act(action: CacheEntryAction, event: CacheEntryEvent, value: V): void {
		switch (action) {
			case 'verify':
				this.#served.verified(this.#answeredAtMs);
				if (event === 'answered, same') this.#served.keep();
				return;
			case 'publish':
				if (this.#state === 'fresh' || this.#state === 'held' || this.#state === 'stale')
					this.#served.publish(value, this.#state);
				return;
			case 'settle waiters':
				this.waiters.settle();
				return;
			case 'reject waiters':
				this.#rejectWaiters(this.refusal() ?? this.#error);
				return;
			case 'start the hold':
				this.#hold.start(
					value.length,
					() => this.#handle('hold due'),
					() => this.#explained(),
				);
				return;
			case 'ask anew':
				this.#confirmEmpty();
				return;
			case 'end the hold':
				this.#hold.end(holdOutcome(event, value.length === 0));
				return;
			case 'stop the watch':
				this.#watch?.stop();
				return;
		}
	}

	/** It is not the registry that has lost what it knew. */
	#explained(): void {
		if (this.#state === 'held' || this.#state === 'confirming') this.#handle('hold over', this.#context.kind.nothing);
	}

	#rejectWaiters(error: SpockError | undefined): void {
		if (error === undefined) return;
		this.waiters.reject(error);
		if (this.#state === 'cold') this.#served.tellError(error);
	}
}
