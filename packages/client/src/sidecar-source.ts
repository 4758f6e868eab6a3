import {
	type CallOptions,
	encodePayload,
	encodeRequestTail,
	type FuncName,
	knownAgeMs,
	normaliseQuery,
	type Push,
	queryKey,
	type ReadOptions,
	type ServiceList,
	type ServiceQuery,
	type ServiceSnapshot,
	type ServiceSource,
	type SnapshotObserver,
	type SourceWatch,
	SpockError,
	tooOldError,
} from '@spock/protocol';
import { type CallTraits, throwIfAborted } from './call.ts';
import { BACKGROUND, LIST, SNAPSHOT, SUBSCRIBE } from './call-traits.ts';
import { closedError } from './closed-error.ts';
import { Connection, type ConnectionListener } from './connection.ts';
import { msLeft } from './ms-left.ts';
import { OneTimer } from './one-timer.ts';
import type { ResolvedOptions } from './options.ts';
import { overloadedError } from './overloaded-error.ts';
import { readSnapshot } from './read-snapshot.ts';
import { RetrySchedule } from './retry-schedule.ts';
import type { Session } from './session.ts';
import { SidecarRegistrar } from './sidecar-registrar.ts';
import { Subscription } from './subscription.ts';

/** Delays between attempts to subscribe while the sidecar answers with failures: its backend needs time, not haste. */
const RESUBSCRIBE = { retryDelayMsMin: 100, retryDelayMsMax: 10_000, unref: true };

/**
 * Services as a sidecar tells them: subscriptions that are wanted, made again on every new connection. While the sidecar
 * is away, what is known stays, marked as last known.
 */
export class SidecarSource implements ServiceSource, ConnectionListener {
	readonly name = 'sidecar';
	readonly connection: Connection;
	readonly registrar: SidecarRegistrar;
	/** False for a sidecar that cannot push, true for one that can; undefined until the first has answered hello. */
	pushes: boolean | undefined = undefined;
	readonly #options: ResolvedOptions;
	readonly #subscriptions = new Map<string, Subscription>();
	readonly #failed = new Set<Subscription>();
	readonly #retry: RetrySchedule;
	#session: Session | undefined;
	readonly #sweepTimer: OneTimer;
	#closed = false;

	constructor(options: ResolvedOptions) {
		this.#options = options;
		this.#retry = new RetrySchedule({ ...options, ...RESUBSCRIBE }, () => this.#subscribeFailed());
		this.#sweepTimer = new OneTimer(options.clock, () => this.#sweep());
		this.connection = new Connection(options, this);
		this.registrar = new SidecarRegistrar(options, (...call) => this.call(...call));
	}

	/** Queries that are wanted now. */
	get subscriptionCount(): number {
		return this.#subscriptions.size;
	}

	peek(query: ServiceQuery): ServiceSnapshot | undefined {
		const subscription = this.#subscriptions.get(queryKey(query));
		if (subscription === undefined) return undefined;
		subscription.usedAtMs = this.#options.clock.now();
		return subscription.read();
	}

	async get(query: ServiceQuery, options: ReadOptions = {}): Promise<ServiceSnapshot> {
		const { timeoutMs = this.#options.timeoutMs, signal } = options;
		throwIfAborted(signal, 'getInstances');
		if (this.#closed) throw closedError();
		const subscription = this.pushes === false ? undefined : this.#open(query);
		if (subscription === undefined) return this.fetch(query, options);
		const known = subscription.read();
		if (known !== undefined) return this.#within(known, query, options);
		const refusal = this.connection.refusal('getInstances');
		if (refusal !== undefined) throw refusal;
		// It was refused before and waits for its turn: somebody who asks now need not.
		if (this.#failed.delete(subscription)) this.#subscribe(subscription);
		const startedMs = this.#options.clock.now();
		try {
			await subscription.waiters.wait('getInstances', { timeoutMs, signal }, () =>
				this.#timeoutError(query, timeoutMs),
			);
		} catch (error) {
			if (this.pushes !== false || !SpockError.is(error, 'UNKNOWN_FUNC')) throw error;
			return this.fetch(query, { ...options, timeoutMs: msLeft(timeoutMs, startedMs, this.#options.clock) });
		}
		const snapshot = subscription.read();
		if (snapshot === undefined) throw closedError();
		return this.#within(snapshot, query, { ...options, timeoutMs: msLeft(timeoutMs, startedMs, this.#options.clock) });
	}

	/** The snapshot the sidecar has now, asked for over the wire. */
	async fetch(query: ServiceQuery, options: ReadOptions = {}): Promise<ServiceSnapshot> {
		const { maxAgeMs } = options;
		const data = { ...normaliseQuery(query), ...(maxAgeMs !== undefined && { maxAgeMs }) };
		const snapshot = (await this.call('getInstances', data, SNAPSHOT, options)) as ServiceSnapshot;
		// A sidecar that knows nothing of maxAgeMs has looked at no age.
		if (maxAgeMs !== undefined && snapshot.ageMs > maxAgeMs) throw tooOldError(query, snapshot.ageMs, maxAgeMs);
		return snapshot;
	}

	watch(query: ServiceQuery, observer: SnapshotObserver): SourceWatch {
		if (this.#closed) throw closedError();
		const subscription = this.#open(query);
		if (subscription === undefined) {
			const { subscriptionsMax } = this.#options;
			throw overloadedError('watchService', 'subscriptionsMax', subscriptionsMax);
		}
		// An observer of its own for each call: the same object may watch twice.
		const own: SnapshotObserver = {
			next: (snapshot) => observer.next(snapshot),
			error: (error) => observer.error?.(error),
		};
		subscription.observers.add(own);
		const known = subscription.read();
		if (known !== undefined) own.next(known);
		else if (this.pushes === false) own.error?.(noPushesError());
		else if (subscription.error !== undefined) own.error?.(subscription.error);
		return {
			stop: () => {
				subscription.observers.delete(own);
				this.#endIfIdle(subscription);
			},
		};
	}

	list(query: { readonly datacenter?: string } = {}, options: CallOptions = {}): Promise<ServiceList> {
		return this.call('listServices', query, LIST, options) as Promise<ServiceList>;
	}

	/** Lets the calls in flight finish, then closes. */
	async drain(): Promise<void> {
		await this.connection.drain();
		this.#dispose();
	}

	async close(): Promise<void> {
		const closed = this.connection.close();
		this.#dispose();
		await closed;
	}

	adopted(session: Session): void {
		this.#session = session;
		this.pushes = session.greeting?.pushes === true;
		this.#cancelRetry();
		for (const subscription of [...this.#subscriptions.values()]) this.#subscribe(subscription);
		this.registrar.adopted(session);
	}

	lost(verifiedAtMs: number): void {
		this.#session = undefined;
		this.#cancelRetry();
		for (const subscription of [...this.#subscriptions.values()]) subscription.lost(verifiedAtMs);
		this.registrar.lost('the connection to the sidecar was lost');
	}

	push(session: Session, { event, data }: Push): void {
		if (event === 'registration' && !this.registrar.push(data)) this.connection.fault('push', 'not a registration');
		// Pushes of a newer protocol are none of ours.
		if (event !== 'service') return;
		let snapshot: ServiceSnapshot;
		try {
			snapshot = readSnapshot(data);
		} catch (error) {
			this.connection.fault('push', SpockError.from(error).message);
			return;
		}
		const subscription = this.#subscriptions.get(queryKey(snapshot));
		if (subscription?.session === session) subscription.accept(snapshot, session.greeting?.instance ?? null);
	}

	/** Calls any function; the options are checked already. */
	call(func: FuncName, data: unknown, traits: CallTraits, { timeoutMs, signal }: CallOptions): Promise<unknown> {
		const tail = encodeRequestTail(func, encodePayload(data), timeoutMs);
		return this.connection.call({ func, tail, traits, timeoutMs: timeoutMs ?? this.#options.timeoutMs, signal });
	}

	/** What is known, if it is young enough for the caller; else what the sidecar says, which may verify it. */
	#within(
		known: ServiceSnapshot,
		query: ServiceQuery,
		options: ReadOptions,
	): ServiceSnapshot | Promise<ServiceSnapshot> {
		const { maxAgeMs } = options;
		if (maxAgeMs === undefined) return known;
		const ageMs = knownAgeMs(known, this.#options.clock.wallNow());
		if (ageMs <= maxAgeMs) return known;
		if (this.#session === undefined) throw tooOldError(query, ageMs, maxAgeMs);
		return this.fetch(query, options);
	}

	#open(query: ServiceQuery): Subscription | undefined {
		const key = queryKey(query);
		const { clock, subscriptionsMax, unref } = this.#options;
		const known = this.#subscriptions.get(key);
		if (known !== undefined) {
			known.usedAtMs = clock.now();
			return known;
		}
		if (this.#subscriptions.size >= subscriptionsMax) return undefined;
		const subscription = new Subscription(key, normaliseQuery(query), clock, unref);
		this.#subscriptions.set(key, subscription);
		this.#armSweep();
		this.#subscribe(subscription);
		return subscription;
	}

	#subscribe(subscription: Subscription): void {
		const session = this.#session;
		if (session === undefined || this.connection.state !== 'ready') return;
		subscription.session = session;
		if (this.pushes === false) {
			subscription.fail(noPushesError());
			return;
		}
		session.send(
			'watchService',
			subscription.query,
			SUBSCRIBE,
			this.#options.timeoutMs,
			(snapshot) => this.#subscribed(subscription, session, snapshot as ServiceSnapshot),
			(error) => this.#refused(subscription, session, error),
		);
	}

	#subscribed(subscription: Subscription, session: Session, snapshot: ServiceSnapshot): void {
		if (subscription.session !== session) return;
		if (this.#failed.size === 0) this.#retry.reset();
		subscription.accept(snapshot, session.greeting?.instance ?? null);
	}

	#refused(subscription: Subscription, session: Session, error: SpockError): void {
		// Of a session that is gone or no longer the one: `lost` and `adopted` see to that.
		if (subscription.session !== session || this.#session !== session) return;
		if (error.code === 'DISCONNECTED' || error.code === 'CLOSED') return;
		subscription.lost(this.#options.clock.now());
		subscription.fail(error);
		this.#failed.add(subscription);
		this.#retry.schedule(error);
	}

	#subscribeFailed(): void {
		const failed = [...this.#failed];
		this.#failed.clear();
		for (const subscription of failed) this.#subscribe(subscription);
	}

	#cancelRetry(): void {
		this.#retry.cancel();
		this.#failed.clear();
	}

	#sweep(): void {
		for (const subscription of [...this.#subscriptions.values()]) this.#endIfIdle(subscription);
		if (this.#subscriptions.size > 0) this.#armSweep();
	}

	#armSweep(): void {
		this.#sweepTimer.arm(Math.ceil(this.#options.idleSubscriptionMs / 2));
	}

	#endIfIdle(subscription: Subscription): void {
		const { clock, idleSubscriptionMs } = this.#options;
		if (!subscription.idle || clock.now() - subscription.usedAtMs < idleSubscriptionMs) return;
		if (this.#subscriptions.get(subscription.key) !== subscription) return;
		this.#subscriptions.delete(subscription.key);
		this.#failed.delete(subscription);
		const { session } = subscription;
		subscription.session = undefined;
		if (session !== undefined && session === this.#session && this.pushes === true) {
			session.send('unwatchService', subscription.query, BACKGROUND, this.#options.timeoutMs);
		}
	}

	#dispose(): void {
		if (this.#closed) return;
		this.#closed = true;
		this.#session = undefined;
		this.#cancelRetry();
		this.#sweepTimer.cancel();
		this.registrar.close();
		for (const subscription of this.#subscriptions.values()) {
			subscription.observers.clear();
			subscription.waiters.endAll(closedError());
		}
		this.#subscriptions.clear();
	}

	#timeoutError({ service }: ServiceQuery, timeoutMs: number): SpockError {
		const why = this.connection.state === 'ready' ? '' : `, because ${this.connection.whyNotReady()}`;
		const message = `no snapshot of ${JSON.stringify(service)} came within ${timeoutMs} ms${why}`;
		return new SpockError('TIMEOUT', message, { details: { service, timeoutMs } });
	}
}

function noPushesError(): SpockError {
	return new SpockError('UNKNOWN_FUNC', 'this sidecar is a baseline one: it cannot tell of changes');
}
