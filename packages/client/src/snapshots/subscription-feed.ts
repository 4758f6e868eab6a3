import {
	type ReadOptions,
	type SnapshotObserver,
	type SourceWatch,
	SpockError,
	type WatchedSource,
} from '@spock/protocol';
import { type AgeClock, ageClockOf } from '@spock/protocol/internal';
import { BACKGROUND, type CallTraits } from '../calls/outgoing-call.ts';
import { RefusedSubscriptions } from '../connection/retry-schedule.ts';
import type { Session } from '../connection/session.ts';
import { overloadedError } from '../foundation/errors.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import { ReceivedSnapshots } from './received-snapshots.ts';
import { SnapshotReader } from './snapshot-reader.ts';
import { type SnapshotFeed, SnapshotStore } from './snapshot-store.ts';
import type { PublishedSnapshot, StoredSnapshot } from './stored-snapshot.ts';
import { instanceOf, noPushesError, type Subscription } from './subscription.ts';
import type { StandIn, SubscriptionKind, SubscriptionPort } from './subscription-kind.ts';

/**
 * The snapshots of one kind that a sidecar pushes. Subscribes again on every new connection; while the sidecar is away, its
 * snapshots remain, marked as last known.
 */
export class SubscriptionFeed<Q, S extends PublishedSnapshot> implements SnapshotFeed<Q, S>, WatchedSource<Q, S> {
	readonly store: SnapshotStore<Q, S>;
	/** Answers requests, from the store or over the wire. */
	readonly reader: SnapshotReader<Q, S>;
	readonly #kind: SubscriptionKind<Q, S>;
	readonly #port: SubscriptionPort;
	readonly #options: ResolvedOptions;
	readonly #ages: AgeClock;
	readonly #standIn: StandIn<Q, S> | undefined;
	readonly #received: ReceivedSnapshots<Q, S>;
	readonly #subscriptions = new Map<StoredSnapshot<Q, S>, Subscription<Q, S>>();
	readonly #refused: RefusedSubscriptions<Subscription<Q, S>>;
	/** Subscriptions with an unreadable push, which are repeated with a back-off of their own. */
	readonly #unread: RefusedSubscriptions<Subscription<Q, S>>;
	/** Subscriptions with an unreadable push and no readable one since. */
	readonly #doubted = new Set<Subscription<Q, S>>();
	#session: Session | undefined;
	/** While there are subscriptions. */
	#endListening: (() => void) | undefined;

	constructor(kind: SubscriptionKind<Q, S>, port: SubscriptionPort, options: ResolvedOptions, standIn?: StandIn<Q, S>) {
		this.#kind = kind;
		this.#port = port;
		this.#options = options;
		this.#ages = ageClockOf(options.clock);
		this.#standIn = standIn;
		this.#received = new ReceivedSnapshots(options, standIn);
		this.store = new SnapshotStore(kind, this, options);
		this.reader = new SnapshotReader(kind, port, options, this, standIn);
		const again = (subscription: Subscription<Q, S>): void => this.#subscribe(subscription, kind.subscribedAgain);
		this.#refused = new RefusedSubscriptions(options, again, ({ stored }) => stored.waiters.count > 0);
		this.#unread = new RefusedSubscriptions(options, again);
	}

	peek(query: Q): S | undefined {
		const stored = this.store.find(query);
		if (stored === undefined) return undefined;
		stored.unusedSweeps = 0;
		return stored.read();
	}

	get(query: Q, options?: ReadOptions): Promise<S> {
		return this.reader.get(query, options);
	}

	watch(query: Q, observer: SnapshotObserver<S>): SourceWatch {
		const stored = this.store.open(query);
		if (stored === undefined) {
			const { subscriptionsMax } = this.#options;
			throw overloadedError(this.#kind.watchFunc, 'subscriptionsMax', subscriptionsMax);
		}
		const stop = stored.observe(observer);
		return {
			stop: () => {
				stop();
				this.store.release(stored);
			},
		};
	}

	get session(): Session | undefined {
		return this.#session;
	}

	/** The same for a query that a caller of this client's owner waits for. */
	retry(query: Q): void {
		const stored = this.store.find(query);
		if (stored !== undefined) this.hurry(stored);
	}

	/** Subscribes now instead of at the next attempt after a refusal. */
	hurry(stored: StoredSnapshot<Q, S>): void {
		const subscription = this.#subscriptions.get(stored);
		if (subscription !== undefined && this.#refused.delete(subscription)) this.#subscribe(subscription);
	}

	/** True once the sidecar has sent this snapshot. */
	hasSent(stored: StoredSnapshot<Q, S>): boolean {
		return this.#subscriptions.get(stored)?.instance !== undefined;
	}

	verify(stored: StoredSnapshot<Q, S>, snapshot: S, session: Session): void {
		// An answer on a session that is no longer current may be from another process.
		if (session !== this.#session) return;
		if (this.#subscriptions.get(stored)?.instance === instanceOf(session)) stored.verify(snapshot);
	}

	/** Called by the store: subscribes now, or once connected. */
	start(stored: StoredSnapshot<Q, S>, waitMs?: number): void {
		const none = { session: undefined, instance: undefined, base: undefined, isWaited: false };
		const subscription = { stored, ...none, missedRevision: 0 };
		this.#subscriptions.set(stored, subscription);
		this.#endListening ??= this.#ages.onStandstill(({ beganAtMs }) => this.#stoodStill(beganAtMs));
		this.#standIn?.start(stored);
		if (this.#port.pushes === false) stored.fail(noPushesError());
		else this.#subscribe(subscription, this.#kind.subscribed, waitMs);
	}

	/** Called by the store: ends the subscription. */
	stop(stored: StoredSnapshot<Q, S>): void {
		const subscription = this.#subscriptions.get(stored);
		if (subscription === undefined) return;
		this.#subscriptions.delete(stored);
		if (this.#subscriptions.size === 0) {
			this.#endListening?.();
			this.#endListening = undefined;
		}
		this.#standIn?.stop(stored);
		this.#refused.delete(subscription);
		this.#unread.delete(subscription);
		this.#doubted.delete(subscription);
		const { session } = subscription;
		subscription.session = undefined;
		if (session !== undefined && session === this.#session && this.#port.pushes === true) {
			session.send(this.#kind.unwatchFunc, stored.query, BACKGROUND, this.#options.timeoutMs);
		}
	}

	/** New calls go to this session from now on. */
	adopted(session: Session): void {
		this.#session = session;
		this.#forgetFailures();
		for (const subscription of this.#all()) this.#subscribe(subscription, this.#kind.subscribedAgain);
	}

	/** The connection was lost; its snapshots were last verified at this time. */
	lost(verifiedAtMs: number): void {
		this.#session = undefined;
		this.#forgetFailures();
		for (const subscription of this.#all()) {
			subscription.session = undefined;
			this.#received.markStale(subscription, verifiedAtMs);
		}
	}

	/**
	 * This process has not run since then, by the age clock: what is known, and what waited in the socket, is last known until the sidecar
	 * has answered. The sidecar may have been silent before.
	 */
	#stoodStill(beganAtMs: number): void {
		const session = this.#session;
		if (session === undefined) return;
		const sinceMs = Math.min(beganAtMs, session.heardAtMs);
		for (const subscription of this.#all()) {
			if (subscription.session !== session) continue;
			subscription.isWaited = true;
			this.#received.markStale(subscription, sinceMs);
		}
		session.afterRoundTrip(() => {
			if (session === this.#session) for (const subscription of this.#all()) this.#received.confirm(subscription);
		});
	}

	/** A push of this kind. */
	push(session: Session, data: unknown): void {
		let snapshot: S | undefined;
		try {
			snapshot = this.#read(session, data);
		} catch (reason) {
			const error = SpockError.from(reason);
			this.#port.connection.fault('push', error.message);
			for (const subscription of this.#concernedBy(data)) this.#doubt(subscription, session, error);
			return;
		}
		const subscription = snapshot && this.#find(snapshot);
		if (snapshot === undefined || subscription?.session !== session) return;
		if (this.#doubted.delete(subscription)) {
			this.#unread.delete(subscription);
			this.#unread.accepted();
		}
		this.#received.accept(subscription, snapshot, session);
	}

	/** Rejects waiting calls with CLOSED and notifies no observer any more; idempotent. */
	close(): void {
		this.#session = undefined;
		this.#forgetFailures();
		this.store.close();
	}

	/** A copy, because handling one subscription may end others. */
	#all(): readonly Subscription<Q, S>[] {
		return [...this.#subscriptions.values()];
	}

	#find(query: Q | S): Subscription<Q, S> | undefined {
		const stored = this.store.find(query);
		return stored && this.#subscriptions.get(stored);
	}

	/** The snapshot of a push; undefined for a delta that has nothing to build on yet, or is not newer. */
	#read(session: Session, data: unknown): S | undefined {
		const { read, readDelta, queryOf } = this.#kind;
		const leftOut = (why: string): void => this.#port.connection.fault('push', why);
		const { base: builtOn, revision } = (data ?? {}) as { readonly base?: unknown; readonly revision?: unknown };
		if (readDelta === undefined || builtOn === undefined) return read(data, leftOut);
		const subscription = this.#find(queryOf(data));
		if (subscription?.session !== session) return undefined;
		const { base } = subscription;
		const newest = Number(revision);
		if (base !== undefined) return newest <= base.revision ? undefined : readDelta(data, base, leftOut);
		subscription.missedRevision = Math.max(subscription.missedRevision, newest);
		return undefined;
	}

	/** The subscriptions that an unreadable push may be about: all, if its query cannot be read either. */
	#concernedBy(data: unknown): readonly Subscription<Q, S>[] {
		let query: Q;
		try {
			query = this.#kind.queryOf(data);
		} catch {
			return this.#all();
		}
		const subscription = this.#find(query);
		return subscription === undefined ? [] : [subscription];
	}

	/** Marks the snapshot as last known and subscribes again: soon the first time, then with back-off. */
	#doubt(subscription: Subscription<Q, S>, session: Session, error: SpockError): void {
		if (subscription.session !== session || session !== this.#session) return;
		subscription.base = undefined;
		this.#doubted.add(subscription);
		this.#unread.add(subscription, error);
		this.#received.markStale(subscription, this.#ages.now());
	}

	#forgetFailures(): void {
		this.#refused.clear();
		this.#unread.clear();
		this.#doubted.clear();
	}

	#subscribe(
		subscription: Subscription<Q, S>,
		traits: CallTraits = this.#kind.subscribed,
		waitMs: number | undefined = undefined,
	): void {
		const session = this.#session;
		if (session === undefined || this.#port.connection.state !== 'ready') return;
		subscription.session = session;
		subscription.base = undefined;
		subscription.isWaited = false;
		subscription.missedRevision = 0;
		if (this.#port.pushes === false) {
			subscription.stored.fail(noPushesError());
			return;
		}
		session.send(
			this.#kind.watchFunc,
			subscription.stored.query,
			traits,
			Math.max(waitMs ?? 0, this.#options.timeoutMs),
			(snapshot) => this.#subscribed(subscription, session, snapshot as S),
			(error) => this.#subscribeFailed(subscription, session, error),
			waitMs,
		);
	}

	#subscribed(subscription: Subscription<Q, S>, session: Session, snapshot: S): void {
		if (subscription.session !== session) return;
		this.#refused.accepted();
		this.#received.accept(subscription, snapshot, session);
		if (subscription.missedRevision <= snapshot.revision) return;
		this.#doubt(subscription, session, new SpockError('PROTOCOL', 'a push came before the answer that it builds on'));
	}

	#subscribeFailed(subscription: Subscription<Q, S>, session: Session, error: SpockError): void {
		// `lost` and `adopted` handle a session that is not current.
		if (subscription.session !== session || this.#session !== session) return;
		if (error.code === 'DISCONNECTED' || error.code === 'CLOSED') return;
		subscription.session = undefined;
		this.#received.markStale(subscription, this.#ages.now());
		// The stand-in may still answer what the sidecar refuses: observers stay.
		if (this.#standIn?.feeds(subscription.stored) === true) subscription.stored.refuse(error);
		else subscription.stored.fail(error);
		this.#refused.add(subscription, error);
	}
}
