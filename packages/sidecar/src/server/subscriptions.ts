import { type SourceWatch, SpockError, type WatchedSource } from '@spock/protocol';

/** What is subscribed to: services, or keys. */
export interface Subscribable<Q, S> {
	readonly source: WatchedSource<Q, S>;
	/** Equal queries have equal names. */
	keyOf(query: Q): string;
	normalise(query: Q): Q;
}

/** Where the pushes of one connection go. */
export interface PushSink<S> {
	/** True while the client has not read what it was sent: pushes then wait, newest only. */
	isBusy(): boolean;
	push(snapshot: S): void;
	superseded(): void;
	/** A subscription over the limit is refused. */
	full(): void;
}

interface Subscription {
	readonly watch: SourceWatch;
	/** The revision the client was told last; pushes that are not newer are left out. Infinity until the first reply. */
	toldRevision: number;
}

/** What one connection watches of one kind. */
export class Subscriptions<Q, S extends { readonly revision: number }> {
	readonly #kind: Subscribable<Q, S>;
	readonly #sink: PushSink<S>;
	readonly #countMax: number;
	readonly #subscriptions = new Map<string, Subscription>();
	// The newest snapshot of each query that the client has not been told yet: bounded by the number of subscriptions.
	readonly #waiting = new Map<string, S>();

	constructor(kind: Subscribable<Q, S>, sink: PushSink<S>, countMax: number) {
		this.#kind = kind;
		this.#sink = sink;
		this.#countMax = countMax;
	}

	get size(): number {
		return this.#subscriptions.size;
	}

	/** True for the key of a query that is watched. */
	has(key: string): boolean {
		return this.#subscriptions.has(key);
	}

	/** Starts to watch; gives the snapshot to reply with, at once if it is known. Watching twice is watching once. */
	add(query: Q, signal: AbortSignal, timeoutMs: number | undefined): S | Promise<S> {
		const { source } = this.#kind;
		const key = this.#kind.keyOf(query);
		const asked = this.#kind.normalise(query);
		if (!this.#subscriptions.has(key)) this.#open(key, asked);
		const known = source.peek(asked);
		if (known !== undefined) return this.#reply(key, known);
		const wait = { signal, ...(timeoutMs !== undefined && { timeoutMs }) };
		return source.get(asked, wait).then(
			(first) => this.#reply(key, source.peek(asked) ?? first),
			(error: unknown) => {
				// The client was told that it does not watch: it must not get pushes.
				if (this.#subscriptions.get(key)?.toldRevision === Number.POSITIVE_INFINITY) this.remove(asked);
				throw error;
			},
		);
	}

	remove(query: Q): void {
		const key = this.#kind.keyOf(query);
		this.#subscriptions.get(key)?.watch.stop();
		this.#subscriptions.delete(key);
		this.#waiting.delete(key);
	}

	/** Sends what had to wait, as far as the client takes it. */
	flush(): void {
		for (const [key, snapshot] of this.#waiting) {
			if (this.#sink.isBusy()) return;
			this.#waiting.delete(key);
			this.#sink.push(snapshot);
		}
	}

	clear(): void {
		for (const { watch } of this.#subscriptions.values()) watch.stop();
		this.#subscriptions.clear();
		this.#waiting.clear();
	}

	#open(key: string, query: Q): void {
		if (this.#subscriptions.size >= this.#countMax) {
			this.#sink.full();
			throw new SpockError('OVERLOADED', `this connection has ${this.#countMax} subscriptions, which is the limit`, {
				details: { subscriptionsMax: this.#countMax },
			});
		}
		// Held back until the reply is sent: a push must not come before the answer to the question it belongs to.
		let toldRevision = Number.POSITIVE_INFINITY;
		const subscription = {
			watch: this.#kind.source.watch(query, {
				next: (snapshot) => {
					if (snapshot.revision > toldRevision) this.#tell(key, snapshot);
				},
			}),
			get toldRevision(): number {
				return toldRevision;
			},
			set toldRevision(revision: number) {
				toldRevision = revision;
			},
		};
		this.#subscriptions.set(key, subscription);
	}

	#reply(key: string, snapshot: S): S {
		const subscription = this.#subscriptions.get(key);
		if (subscription !== undefined) subscription.toldRevision = snapshot.revision;
		this.#waiting.delete(key);
		return snapshot;
	}

	#tell(key: string, snapshot: S): void {
		const subscription = this.#subscriptions.get(key);
		if (subscription !== undefined) subscription.toldRevision = snapshot.revision;
		if (this.#waiting.has(key)) this.#sink.superseded();
		if (this.#sink.isBusy()) {
			this.#waiting.set(key, snapshot);
		} else {
			this.#waiting.delete(key);
			this.#sink.push(snapshot);
		}
	}
}
