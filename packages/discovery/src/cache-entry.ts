import {
	type Inspection,
	type ServiceInstance,
	type ServiceQuery,
	type ServiceSnapshot,
	type SnapshotObserver,
	SpockError,
	type WatchStatus,
} from '@spock/protocol';
import { step } from '@spock/protocol/internal';

import type { Backend, BackendWatch } from './backend.ts';
import {
	type CacheEntryAction,
	type CacheEntryEvent,
	type CacheEntryState,
	cacheEntryMachine,
} from './cache-entry-machine.ts';
import { EmptyHold } from './empty-hold.ts';
import { takeChecks } from './instance-checks.ts';
import { KeptAnswer } from './kept-answer.ts';
import { countHealthy } from './panic.ts';
import { ServedSnapshot, type ServedSnapshotContext } from './served-snapshot.ts';
import { isSameList } from './snapshot-diff.ts';
import { Verifier } from './verifier.ts';

const NO_INSTANCES: readonly ServiceInstance[] = Object.freeze([]);
/** How each event that may end a hold ends it. */
const HOLD_OUTCOMES = { 'hold over': 'emptied', failed: 'failed', idle: 'dropped', close: 'dropped' } as const;

/** Somebody who waits for an answer. */
export interface Waiter {
	settle(): void;
	reject(error: SpockError): void;
}

/** What an entry needs from its cache. */
export interface CacheEntryContext extends ServedSnapshotContext {
	readonly backend: Backend;
	/** How long an empty answer after another one is held back, in milliseconds; 0 for not at all. */
	readonly emptyHoldMs: number;
}

/** One question, its watch, its last answer and its readers. */
export class CacheEntry {
	readonly query: ServiceQuery;
	readonly waiters: Set<Waiter> = new Set();
	/** When somebody last asked; the cache evicts by it. */
	usedAtMs: number;
	/** Read since the last sweep, which turns this into a time. */
	peeked = false;
	readonly #context: CacheEntryContext;
	readonly #served: ServedSnapshot;
	readonly #hold: EmptyHold;
	readonly #verifier: Verifier;
	readonly #kept: KeptAnswer;
	#watch: BackendWatch | undefined;
	#state: CacheEntryState = 'cold';
	#answeredAtMs = 0;
	#failingSinceMs: number | undefined;
	#error: SpockError | undefined;
	/** Until when an empty answer is believed at once. */
	#trustsEmptyUntilMs = Number.NEGATIVE_INFINITY;

	constructor(query: ServiceQuery, context: CacheEntryContext) {
		const { clock, emptyHoldMs } = context;
		this.query = query;
		this.#context = context;
		this.#served = new ServedSnapshot(query, context);
		this.#hold = new EmptyHold(clock, emptyHoldMs);
		this.#verifier = new Verifier(clock, () => this.#restartWatch());
		this.#kept = new KeptAnswer(clock, () => this.#restore());
		this.usedAtMs = clock.now();
	}

	get observers(): Set<SnapshotObserver> {
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

	/** True while something is served that the registry does not confirm: this is no time to forget it. */
	get isLastKnown(): boolean {
		return this.#state === 'stale' || this.#state === 'held';
	}

	/** Since the registry confirmed what is served, in milliseconds. */
	get ageMs(): number {
		return this.#served.ageMs;
	}

	/** Starts the watch. The backend may answer before this returns. */
	open(): void {
		const { state } = this.#context;
		if (state !== undefined) this.#kept.load(state, this.query);
		this.#startWatch();
	}

	/** What can be served now: the live snapshot, or a copy of the last known one with its age; undefined if neither. */
	read(): ServiceSnapshot | undefined {
		return this.#served.read(this.isFresh);
	}

	/** As `read`, with the time of the last verification, which nobody was told where nothing had changed. */
	readVerified(): ServiceSnapshot | undefined {
		return this.#served.readVerified(this.isFresh);
	}

	/** Why nothing can be served although the registry has spoken; undefined while its first word is awaited. */
	refusal(): SpockError | undefined {
		if (!this.isLastKnown) return this.#served.instances === undefined ? this.#error : undefined;
		if (this.read() !== undefined) return undefined;
		const { service } = this.query;
		const ageMs = Math.round(this.ageMs);
		const message = `what is known of ${JSON.stringify(service)} is ${ageMs} ms old, over the limit`;
		const details = { service, ageMs, staleMaxMs: this.#context.staleMaxMs };
		return new SpockError('UNAVAILABLE', message, { details, cause: this.#error });
	}

	status(): WatchStatus {
		const { instances = [], revision } = this.#served;
		return {
			...this.query,
			state: this.#state === 'evicted' ? 'cold' : this.#state,
			revision,
			instances: instances.length,
			healthyInstances: countHealthy(instances),
			readers: this.observers.size,
			ageMs: this.isLastKnown ? this.ageMs : 0,
			error: this.#error?.message ?? null,
		};
	}

	/** Everything that is known, for explain. */
	inspect(): Inspection {
		return {
			snapshot: this.readVerified(),
			state: this.#state === 'evicted' ? 'cold' : this.#state,
			error: (this.refusal() ?? this.#error)?.message ?? null,
			held: this.#hold.status(),
			changedAt: this.#served.changedAt,
			readers: this.observers.size,
			instances: this.#served.facts(),
		};
	}

	/** Asks the registry out of turn; whoever waits is told the outcome. Only while the entry is fresh. */
	verify(): void {
		if (this.isFresh) this.#verifier.request();
	}

	/** An instance was taken out on purpose, by this process: that nothing is left is believed for the time of a hold. */
	trustEmpty(): void {
		this.#trustsEmptyUntilMs = this.#context.clock.now() + this.#context.emptyHoldMs;
		if (this.#state === 'held') this.#handle('hold over', NO_INSTANCES);
	}

	/** Ends the watch because nobody reads any more. */
	evict(): void {
		this.#handle('idle', undefined);
	}

	/** Ends the watch and rejects whoever waits with CLOSED. */
	close(): void {
		this.#error = new SpockError('CLOSED', 'the source of services was closed');
		this.#handle('close', undefined);
		this.observers.clear();
	}

	#startWatch(): void {
		const before = this.#watch;
		this.#watch = this.#context.backend.watch(this.query, {
			answered: (instances) => this.#answered(instances),
			failed: (error) => this.#failed(error),
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
			const error = SpockError.from(reason);
			for (const waiter of takeAll(this.waiters)) waiter.reject(error);
		}
	}

	#answered(instances: readonly ServiceInstance[]): void {
		// An empty answer must meet what an earlier process kept: the registry may have lost its data while this one was away.
		if (instances.length === 0 && this.#kept.defer(() => this.#answered(instances))) return;
		if (this.#state === 'evicted') return;
		if (this.#isHoldable(this.#kept.instances ?? [], instances)) this.#restore();
		const { clock, onEvent } = this.#context;
		if (this.#failingSinceMs !== undefined) {
			onEvent({ type: 'watch-recovered', query: this.query, outageMs: clock.now() - this.#failingSinceMs });
			this.#failingSinceMs = undefined;
		}
		this.#error = undefined;
		this.#answeredAtMs = clock.now();
		const served = this.#served.instances;
		if (served !== undefined && isSameList(served, instances)) {
			// An unchanged list keeps its old objects: what readers memoised for each instance stays good.
			takeChecks(served, instances);
			this.#handle('answered, same', served);
		} else {
			const isHeld = served !== undefined && this.#isHoldable(served, instances);
			this.#handle(isHeld ? 'emptied' : 'answered, different', isHeld ? served : instances);
		}
	}

	#isHoldable(served: readonly ServiceInstance[], instances: readonly ServiceInstance[]): boolean {
		const { backend, clock, emptyHoldMs } = this.#context;
		if (instances.length > 0 || served.length === 0 || emptyHoldMs === 0) return false;
		return backend.trustsEmpty !== true && clock.now() >= this.#trustsEmptyUntilMs;
	}

	#failed(error: SpockError): void {
		if (this.#kept.defer(() => this.#failed(error)) || this.#state === 'evicted') return;
		this.#error = error;
		if (this.#failingSinceMs === undefined) {
			this.#failingSinceMs = this.#context.clock.now();
			this.#context.onEvent({ type: 'watch-failed', query: this.query, error });
		}
		if (!this.#restore()) this.#handle('failed', this.#served.instances);
	}

	/** Serves what an earlier process kept; false if there is nothing. */
	#restore(): boolean {
		const kept = this.#kept.take();
		if (kept === undefined) return false;
		const { clock, onEvent } = this.#context;
		const ageMs = Math.max(0, clock.wallNow() - kept.verifiedAt);
		this.#served.verified(clock.now() - ageMs);
		onEvent({ type: 'state-restored', what: this.query.service, ageMs });
		this.#handle('restored', kept.instances);
		return true;
	}

	#handle(event: CacheEntryEvent, instances: readonly ServiceInstance[] | undefined): void {
		const { state, actions } = step(cacheEntryMachine, this.#state, event);
		this.#state = state;
		if (event !== 'hold over' && event !== 'restored') this.#verifier.done();
		if (state !== 'cold') this.#kept.drop();
		for (const action of actions) this.#act(action, event, instances);
	}

	#act(action: CacheEntryAction, event: CacheEntryEvent, instances: readonly ServiceInstance[] | undefined): void {
		switch (action) {
			case 'verify':
				this.#served.verified(this.#answeredAtMs);
				if (event === 'answered, same') this.#served.keep();
				return;
			case 'publish':
				if (this.#state !== 'cold' && this.#state !== 'evicted') this.#served.publish(instances ?? [], this.#state);
				return;
			case 'settle waiters':
				for (const waiter of takeAll(this.waiters)) waiter.settle();
				return;
			case 'reject waiters':
				this.#rejectWaiters(this.refusal() ?? this.#error);
				return;
			case 'start the hold':
				this.#startHold(instances?.length ?? 0);
				return;
			case 'end the hold':
				this.#endHold(event);
				return;
			case 'stop the watch':
				this.#watch?.stop();
				return;
		}
	}

	#startHold(instances: number): void {
		const { emptyHoldMs, onEvent } = this.#context;
		this.#hold.start(() => this.#handle('hold over', NO_INSTANCES));
		onEvent({ type: 'held', query: this.query, instances, holdMs: emptyHoldMs });
	}

	#endHold(event: CacheEntryEvent): void {
		const outcome = HOLD_OUTCOMES[event as keyof typeof HOLD_OUTCOMES] ?? 'returned';
		this.#context.onEvent({ type: 'hold-ended', query: this.query, outcome, heldMs: this.#hold.end() });
	}

	#rejectWaiters(error: SpockError | undefined): void {
		if (error === undefined) return;
		for (const waiter of takeAll(this.waiters)) waiter.reject(error);
		if (this.#state === 'cold') this.#served.tellError(error);
	}
}

function takeAll<T>(set: Set<T>): T[] {
	const all = [...set];
	set.clear();
	return all;
}
