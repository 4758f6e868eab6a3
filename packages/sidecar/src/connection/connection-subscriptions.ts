import {
	isStale,
	type PushedStatus,
	type SnapshotState,
	type SourceWatch,
	SpockError,
	type WatchedSource,
} from '@spock/protocol';

import { type CallTime, callOptions } from '../foundation/sidecar-source.ts';
import type { SnapshotPush } from './snapshot-delta.ts';

/** A kind of subscription: to services, or to keys. */
export interface Subscribable<Q, S> {
	readonly source: WatchedSource<Q, S>;
	/** Equal queries have equal names. */
	keyOf(query: Q): string;
	normalise(query: Q): Q;
}

/** What any push needs of its connection. */
export interface PushConnection {
	/** True while the client has not read what it was sent: pushes then wait, newest only. */
	isBusy(): boolean;
	/** A push was left out, because a newer one came before the client had read. */
	superseded(): void;
	/** The clock of ages. */
	now(): number;
	/** Whose share of the source it uses now. */
	asker(): string;
	/** A subscription over the limit was refused. */
	full(): void;
}

/** Where the pushes of one connection go. */
export interface PushSink<S> extends PushConnection {
	/** The push of a snapshot to a client that has `base`, if any; FRAME_TOO_LARGE if it is too long for this client. */
	encode(snapshot: S, base: S | undefined): SnapshotPush | SpockError;
	push(push: SnapshotPush): void;
	/** Why a snapshot is too long for this client: FRAME_TOO_LARGE; undefined if it is not. */
	refusal(snapshot: S): SpockError | undefined;
	/** From now on a snapshot is too long for it. */
	oversize(snapshot: S, refusal: SpockError): void;
}

interface Subscription<S> {
	readonly watch: SourceWatch;
	/** Requests to watch it that wait for its first snapshot. */
	asking: number;
	/** The revision that the client was sent last; pushes that are not newer are left out. Infinity until the first reply. */
	toldRevision: number;
	/** The last snapshot of the source that it was sent, and when. */
	told: S | undefined;
	toldAtMs: number;
	/** What the next push may build on: `told`, or that marked as oversize. */
	base: S | undefined;
	/** What was pushed since it was opened. Undefined before the first push, which many subscriptions never have. */
	pushed: { -readonly [Member in keyof PushedStatus]: PushedStatus[Member] } | undefined;
}

/** The subscriptions of one kind of one connection. */
export class ConnectionSubscriptions<Q, S extends SnapshotState> {
	readonly #kind: Subscribable<Q, S>;
	readonly #sink: PushSink<S>;
	readonly #countMax: number;
	readonly #subscriptions = new Map<string, Subscription<S>>();
	// The newest unsent snapshot of each query: bounded by the number of subscriptions.
	readonly #waiting = new Map<string, S>();
	/** Queries, subscribed or refused, whose newest snapshot is too long for the client. */
	readonly #oversize = new Set<string>();
	/** How often what is watched has changed. */
	#revision = 0;

	constructor(kind: Subscribable<Q, S>, sink: PushSink<S>, countMax: number) {
		this.#kind = kind;
		this.#sink = sink;
		this.#countMax = countMax;
	}

	get size(): number {
		return this.#subscriptions.size;
	}

	/** Grows with each query that is added or removed. */
	get revision(): number {
		return this.#revision;
	}

	/** The keys of the queries that are watched. */
	get watched(): readonly string[] {
		return [...this.#subscriptions.keys()];
	}

	/** True for the key of a query that is watched. */
	has(key: string): boolean {
		return this.#subscriptions.has(key);
	}

	/** What was pushed for the key of a query; undefined if nothing was. */
	pushed(key: string): PushedStatus | undefined {
		const { pushed } = this.#subscriptions.get(key) ?? {};
		return pushed && { ...pushed };
	}

	/** Queries whose newest snapshot is too long for this client. */
	get oversizeCount(): number {
		return this.#oversize.size;
	}

	/** True for the key of a query whose newest snapshot is too long for this client. */
	isOversize(key: string): boolean {
		return this.#oversize.has(key);
	}

	/**
	 * Starts to watch; returns the snapshot to reply with, at once if it is known. Idempotent. Throws or rejects with OVERLOADED,
	 * FRAME_TOO_LARGE, ABORTED when `call` is cancelled, and the errors of the source: then it does not watch.
	 */
	add(query: Q, call: CallTime): S | Promise<S> {
		const { source } = this.#kind;
		const key = this.#kind.keyOf(query);
		const asked = this.#kind.normalise(query);
		const subscription = this.#subscriptions.get(key) ?? this.#open(key, asked);
		const known = source.peek(asked);
		if (known !== undefined) return this.#reply(key, known);
		subscription.asking++;
		return source.get(asked, callOptions(call, this.#sink.asker())).then(
			(first) => {
				subscription.asking--;
				return this.#reply(key, source.peek(asked) ?? first);
			},
			(error: unknown) => {
				subscription.asking--;
				this.#removeUntold(key);
				throw error;
			},
		);
	}

	remove(query: Q): void {
		const key = this.#kind.keyOf(query);
		this.#remove(key);
		this.#oversize.delete(key);
	}

	/** Sends waiting snapshots, as far as the client reads them. */
	flush(): void {
		for (const [key, snapshot] of this.#waiting) {
			if (this.#sink.isBusy()) return;
			this.#waiting.delete(key);
			this.#push(key, snapshot);
		}
	}

	clear(): void {
		for (const { watch } of this.#subscriptions.values()) watch.stop();
		this.#subscriptions.clear();
		this.#waiting.clear();
		this.#oversize.clear();
	}

	#open(key: string, query: Q): Subscription<S> {
		if (this.#subscriptions.size >= this.#countMax) {
			this.#sink.full();
			throw new SpockError('OVERLOADED', `this connection has ${this.#countMax} subscriptions, which is the limit`, {
				details: { subscriptionsMax: this.#countMax },
			});
		}
		const subscription: Subscription<S> = {
			watch: this.#kind.source.watch(
				query,
				// Wait until the reply is sent: a push must not precede the answer to its subscription.
				{ next: (snapshot) => this.#tell(key, snapshot) },
				{ asker: this.#sink.asker() },
			),
			asking: 0,
			toldRevision: Number.POSITIVE_INFINITY,
			told: undefined,
			toldAtMs: 0,
			base: undefined,
			pushed: undefined,
		};
		this.#subscriptions.set(key, subscription);
		this.#revision++;
		return subscription;
	}

	#reply(key: string, snapshot: S): S {
		const refusal = this.#sink.refusal(snapshot);
		if (refusal !== undefined) {
			this.#markOversize(key, snapshot, refusal);
			this.#removeUntold(key);
			throw refusal;
		}
		this.#noteTold(key, snapshot);
		this.#waiting.delete(key);
		return snapshot;
	}

	#tell(key: string, snapshot: S): void {
		const subscription = this.#subscriptions.get(key);
		// Notified before `watch` returned: the reply contains the same snapshot.
		if (subscription === undefined || snapshot.revision <= subscription.toldRevision) return;
		subscription.toldRevision = snapshot.revision;
		if (this.#waiting.has(key)) this.#sink.superseded();
		if (this.#sink.isBusy()) {
			this.#waiting.set(key, snapshot);
		} else {
			this.#waiting.delete(key);
			this.#push(key, snapshot);
		}
	}

	/** Sends a snapshot; if it is too long, sends the previous one once more, marked as oversize, unless that was done. */
	#push(key: string, snapshot: S): void {
		const subscription = this.#subscriptions.get(key);
		if (subscription === undefined) return;
		const push = this.#sink.encode(snapshot, subscription.base);
		if (!(push instanceof SpockError)) {
			this.#noteTold(key, snapshot);
			this.#send(subscription, push);
			return;
		}
		if (subscription.told === undefined || !this.#markOversize(key, snapshot, push)) return;
		const { told, toldAtMs, base } = subscription;
		const ageMs = isStale(told) ? told.ageMs + this.#sink.now() - toldAtMs : 0;
		const { revision } = snapshot;
		const marked: S = Object.freeze({ ...told, revision, source: 'last-known-good', ageMs, oversize: true });
		const markedPush = this.#sink.encode(marked, base);
		// It fits: there is room for the mark wherever it was sent without.
		if (markedPush instanceof SpockError) return;
		subscription.base = marked;
		this.#send(subscription, markedPush);
	}

	#send(subscription: Subscription<S>, push: SnapshotPush): void {
		subscription.pushed ??= { whole: 0, delta: 0, parts: 0, lastBytes: 0 };
		subscription.pushed[push.form]++;
		subscription.pushed.lastBytes = push.bytes;
		this.#sink.push(push);
	}

	#noteTold(key: string, snapshot: S): void {
		this.#oversize.delete(key);
		const subscription = this.#subscriptions.get(key);
		if (subscription === undefined) return;
		subscription.toldRevision = snapshot.revision;
		subscription.told = snapshot;
		subscription.base = snapshot;
		subscription.toldAtMs = this.#sink.now();
	}

	/** Returns false if it was marked before. */
	#markOversize(key: string, snapshot: S, refusal: SpockError): boolean {
		if (this.#oversize.has(key)) return false;
		// A refused query is no subscription, but bounded in the same way.
		if (this.#subscriptions.has(key) || this.#oversize.size < this.#countMax) this.#oversize.add(key);
		this.#sink.oversize(snapshot, refusal);
		return true;
	}

	/** A client that was refused, or cancelled before the reply, must not get pushes. */
	#removeUntold(key: string): void {
		const subscription = this.#subscriptions.get(key);
		if (subscription?.told === undefined && subscription?.asking === 0) this.#remove(key);
	}

	#remove(key: string): void {
		this.#subscriptions.get(key)?.watch.stop();
		if (this.#subscriptions.delete(key)) this.#revision++;
		this.#waiting.delete(key);
	}
}
