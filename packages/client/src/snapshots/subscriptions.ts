import {
	knownAgeMs,
	type ReadOptions,
	type SnapshotObserver,
	type SourceWatch,
	SpockError,
	tooOldError,
	type WatchedSource,
} from '@spock/protocol';

import { type CallTraits, throwIfAborted } from '../calls/call.ts';
import { BACKGROUND } from '../calls/call-traits.ts';
import type { Session } from '../connection/session.ts';
import { closedError } from '../foundation/closed-error.ts';
import { OneTimer } from '../foundation/one-timer.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import { overloadedError } from '../foundation/overloaded-error.ts';
import { timeLeft } from '../foundation/time-left.ts';
import { RefusedSubscriptions } from './refused-subscriptions.ts';
import { type PublishedSnapshot, Subscription } from './subscription.ts';
import { noPushesError, noSnapshotError } from './subscription-errors.ts';
import type { SubscriptionKind, SubscriptionPort } from './subscription-kind.ts';

/**
 * Subscriptions of one kind that are wanted, made again on every new connection. While the sidecar is away, what is known
 * stays, marked as last known.
 */
export class Subscriptions<Q, S extends PublishedSnapshot> implements WatchedSource<Q, S> {
	readonly #kind: SubscriptionKind<Q, S>;
	readonly #port: SubscriptionPort;
	readonly #options: ResolvedOptions;
	readonly #wanted = new Map<string, Subscription<Q, S>>();
	readonly #refused: RefusedSubscriptions<Subscription<Q, S>>;
	/** Those of which a push could not be read, asked for again at a pace of their own. */
	readonly #unread: RefusedSubscriptions<Subscription<Q, S>>;
	/** Those that no push which could be read has mended since. */
	readonly #doubted = new Set<Subscription<Q, S>>();
	readonly #sweepTimer: OneTimer;
	#session: Session | undefined;
	#closed = false;

	constructor(kind: SubscriptionKind<Q, S>, port: SubscriptionPort, options: ResolvedOptions) {
		this.#kind = kind;
		this.#port = port;
		this.#options = options;
		const again = (subscription: Subscription<Q, S>): void => this.#subscribe(subscription, kind.subscribedAgain);
		this.#refused = new RefusedSubscriptions(options, again);
		this.#unread = new RefusedSubscriptions(options, again);
		this.#sweepTimer = new OneTimer(options.clock, () => this.#sweep());
	}

	/** Queries that are wanted now. */
	get count(): number {
		return this.#wanted.size;
	}

	peek(query: Q): S | undefined {
		const subscription = this.#wanted.get(this.#kind.keyOf(query));
		if (subscription === undefined) return undefined;
		subscription.usedAtMs = this.#options.clock.now();
		return subscription.read();
	}

	async get(query: Q, options: ReadOptions = {}): Promise<S> {
		const { timeoutMs = this.#options.timeoutMs, signal } = options;
		const { getFunc, noun, nameOf } = this.#kind;
		const { connection } = this.#port;
		throwIfAborted(signal, getFunc);
		if (this.#closed) throw closedError();
		const subscription = this.#port.pushes === false ? undefined : this.#open(query);
		if (subscription === undefined) return this.fetch(query, options);
		const known = subscription.read();
		if (known !== undefined) return this.#within(known, query, options);
		const refusal = connection.refusal(getFunc);
		if (refusal !== undefined) throw refusal;
		// It was refused before and waits for its turn: somebody who asks now need not.
		if (this.#refused.delete(subscription)) this.#subscribe(subscription);
		const left = timeLeft(options, this.#options);
		try {
			await subscription.waiters.wait(getFunc, { timeoutMs, signal }, () =>
				noSnapshotError(noun, nameOf(query), timeoutMs, connection),
			);
		} catch (error) {
			if (this.#port.pushes !== false || !SpockError.is(error, 'UNKNOWN_FUNC')) throw error;
			return this.fetch(query, left());
		}
		// Waiting ends well with a snapshot and with nothing else.
		return this.#within(subscription.read() as S, query, left());
	}

	/** The snapshot the sidecar has now, asked for over the wire. */
	async fetch(query: Q, options: ReadOptions = {}): Promise<S> {
		const { maxAgeMs } = options;
		const { getFunc, fetched, noun } = this.#kind;
		const data = { ...this.#kind.normalise(query), ...(maxAgeMs !== undefined && { maxAgeMs }) };
		const snapshot = (await this.#port.call(getFunc, data, fetched, options)) as S;
		// A sidecar that knows nothing of maxAgeMs has looked at no age.
		if (maxAgeMs !== undefined && snapshot.ageMs > maxAgeMs) {
			throw tooOldError(noun, this.#kind.nameOf(query), snapshot.ageMs, maxAgeMs);
		}
		return snapshot;
	}

	watch(query: Q, observer: SnapshotObserver<S>): SourceWatch {
		if (this.#closed) throw closedError();
		const subscription = this.#open(query);
		if (subscription === undefined) {
			const { subscriptionsMax } = this.#options;
			throw overloadedError(this.#kind.watchFunc, 'subscriptionsMax', subscriptionsMax);
		}
		// An observer of its own for each call: the same object may watch twice.
		const own: SnapshotObserver<S> = {
			next: (snapshot) => observer.next(snapshot),
			error: (error) => observer.error?.(error),
		};
		subscription.observers.add(own);
		const known = subscription.read();
		if (known !== undefined) own.next(known);
		else if (this.#port.pushes === false) own.error?.(noPushesError());
		else if (subscription.error !== undefined) own.error?.(subscription.error);
		return {
			stop: () => {
				subscription.observers.delete(own);
				this.#endIfIdle(subscription);
			},
		};
	}

	/** New calls go to this session from now on. */
	adopted(session: Session): void {
		this.#session = session;
		this.#forgetFailures();
		for (const subscription of [...this.#wanted.values()]) this.#subscribe(subscription, this.#kind.subscribedAgain);
	}

	/** There is no connection; what is known was true at this moment. */
	lost(verifiedAtMs: number): void {
		this.#session = undefined;
		this.#forgetFailures();
		for (const subscription of [...this.#wanted.values()]) subscription.lost(verifiedAtMs);
	}

	/** A push of this kind. */
	push(session: Session, data: unknown): void {
		let snapshot: S;
		try {
			snapshot = this.#kind.read(data, (why) => this.#port.connection.fault('push', why));
		} catch (reason) {
			const error = SpockError.from(reason);
			this.#port.connection.fault('push', error.message);
			for (const subscription of this.#concernedBy(data)) this.#doubt(subscription, session, error);
			return;
		}
		const subscription = this.#wanted.get(this.#kind.keyOf(snapshot));
		if (subscription?.session !== session) return;
		if (this.#doubted.delete(subscription)) {
			this.#unread.delete(subscription);
			this.#unread.accepted();
		}
		subscription.accept(snapshot, session.greeting?.instance ?? null);
	}

	/** Rejects who waits with CLOSED and tells nobody anything any more; idempotent. */
	close(): void {
		if (this.#closed) return;
		this.#closed = true;
		this.#session = undefined;
		this.#forgetFailures();
		this.#sweepTimer.cancel();
		for (const subscription of this.#wanted.values()) {
			subscription.observers.clear();
			subscription.waiters.endAll(closedError());
		}
		this.#wanted.clear();
	}

	/** Those that a push which cannot be read may be about: all, where it does not say whose it is. */
	#concernedBy(data: unknown): readonly Subscription<Q, S>[] {
		let query: Q;
		try {
			query = this.#kind.queryOf(data);
		} catch {
			return [...this.#wanted.values()];
		}
		const subscription = this.#wanted.get(this.#kind.keyOf(query));
		return subscription === undefined ? [] : [subscription];
	}

	/** What is known of it is last known from now on, and it is subscribed to anew: a first time soon, then with back-off. */
	#doubt(subscription: Subscription<Q, S>, session: Session, error: SpockError): void {
		if (subscription.session !== session || session !== this.#session) return;
		this.#doubted.add(subscription);
		this.#unread.add(subscription, error);
		subscription.doubt();
	}

	#forgetFailures(): void {
		this.#refused.clear();
		this.#unread.clear();
		this.#doubted.clear();
	}

	/** What is known, if it is young enough for the caller; else what the sidecar says, which may verify it. */
	#within(known: S, query: Q, options: ReadOptions): S | Promise<S> {
		const { maxAgeMs } = options;
		if (maxAgeMs === undefined) return known;
		const ageMs = knownAgeMs(known, this.#options.clock.wallNow());
		if (ageMs <= maxAgeMs) return known;
		const { noun } = this.#kind;
		if (this.#session === undefined) throw tooOldError(noun, this.#kind.nameOf(query), ageMs, maxAgeMs);
		return this.fetch(query, options);
	}

	#open(query: Q): Subscription<Q, S> | undefined {
		const key = this.#kind.keyOf(query);
		const { subscriptionsMax, clock } = this.#options;
		const known = this.#wanted.get(key);
		if (known !== undefined) {
			known.usedAtMs = clock.now();
			return known;
		}
		if (this.#wanted.size >= subscriptionsMax) return undefined;
		const subscription = new Subscription<Q, S>(key, this.#kind.normalise(query), this.#options);
		this.#wanted.set(key, subscription);
		this.#armSweep();
		this.#subscribe(subscription);
		return subscription;
	}

	#subscribe(subscription: Subscription<Q, S>, traits: CallTraits = this.#kind.subscribed): void {
		const session = this.#session;
		if (session === undefined || this.#port.connection.state !== 'ready') return;
		subscription.session = session;
		if (this.#port.pushes === false) {
			subscription.fail(noPushesError());
			return;
		}
		session.send(
			this.#kind.watchFunc,
			subscription.query,
			traits,
			this.#options.timeoutMs,
			(snapshot) => this.#subscribed(subscription, session, snapshot as S),
			(error) => this.#subscribeFailed(subscription, session, error),
		);
	}

	#subscribed(subscription: Subscription<Q, S>, session: Session, snapshot: S): void {
		if (subscription.session !== session) return;
		this.#refused.accepted();
		subscription.accept(snapshot, session.greeting?.instance ?? null);
	}

	#subscribeFailed(subscription: Subscription<Q, S>, session: Session, error: SpockError): void {
		// Of a session that is gone or no longer the one: `lost` and `adopted` see to that.
		if (subscription.session !== session || this.#session !== session) return;
		if (error.code === 'DISCONNECTED' || error.code === 'CLOSED') return;
		subscription.lost(this.#options.clock.now());
		subscription.fail(error);
		this.#refused.add(subscription, error);
	}

	#sweep(): void {
		for (const subscription of [...this.#wanted.values()]) this.#endIfIdle(subscription);
		if (this.#wanted.size > 0) this.#armSweep();
	}

	#armSweep(): void {
		this.#sweepTimer.arm(Math.ceil(this.#options.idleSubscriptionMs / 2));
	}

	#endIfIdle(subscription: Subscription<Q, S>): void {
		const { clock, idleSubscriptionMs } = this.#options;
		if (!subscription.idle || clock.now() - subscription.usedAtMs < idleSubscriptionMs) return;
		if (this.#wanted.get(subscription.key) !== subscription) return;
		this.#wanted.delete(subscription.key);
		this.#refused.delete(subscription);
		this.#unread.delete(subscription);
		this.#doubted.delete(subscription);
		const { session } = subscription;
		subscription.session = undefined;
		if (session !== undefined && session === this.#session && this.#port.pushes === true) {
			session.send(this.#kind.unwatchFunc, subscription.query, BACKGROUND, this.#options.timeoutMs);
		}
	}
}
