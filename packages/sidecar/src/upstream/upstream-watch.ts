import type { BackendObserver, BackendWatch } from '@spock/discovery';
import { knownAgeMs, type SnapshotState, type SourceWatch, SpockError, type WatchedSource } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

/** How to watch one query at another sidecar. */
export interface UpstreamWatchOptions<Q, S, V> {
	readonly source: WatchedSource<Q, S>;
	readonly query: Q;
	readonly observer: BackendObserver<V>;
	/** The answer in a snapshot. */
	readonly valueOf: (snapshot: S) => V;
	/** True to have the first answer verified by the registry, and not only by the other sidecar's own watch. */
	readonly verifies: boolean;
	readonly clock: Clock;
	/** True while the other sidecar is connected. */
	readonly isConnected: () => boolean;
	/** For people: why what the other sidecar sent last is not confirmed. */
	readonly whyStale: (ageMs: number) => string;
}

/**
 * A watch at another sidecar. An answer is as old here as it is there; one that is older than what was known before is not taken: a
 * sidecar that was restarted may know less than those that ask it.
 */
export class UpstreamWatch<Q, S extends SnapshotState, V> implements BackendWatch {
	readonly #options: UpstreamWatchOptions<Q, S, V>;
	readonly #ended = new AbortController();
	#watch: SourceWatch | undefined;
	/** Reported again while it lasts; undefined while answers are confirmed. */
	#error: SpockError | undefined;
	/** When the registry confirmed what was reported last, by the clock. */
	#verifiedAtMs = Number.NEGATIVE_INFINITY;

	constructor(options: UpstreamWatchOptions<Q, S, V>) {
		this.#options = options;
		if (options.verifies) void this.#verify();
		else this.#follow();
	}

	stop(): void {
		this.#ended.abort();
		this.#watch?.stop();
	}

	/** Reports the failure again, if there is one; and that the other sidecar is away, where it has never answered. */
	repeat(): void {
		if (this.#ended.signal.aborted) return;
		const { observer, isConnected, whyStale } = this.#options;
		if (this.#error !== undefined) observer.failed(this.#error);
		else if (this.#verifiedAtMs === Number.NEGATIVE_INFINITY && !isConnected()) this.#fail(new SpockError('UNAVAILABLE', whyStale(0)));
	}

	#follow(): void {
		const { source, query } = this.#options;
		this.#watch = source.watch(query, {
			next: (snapshot) => this.#take(snapshot),
			error: (error) => this.#fail(error),
		});
		if (this.#ended.signal.aborted) this.#watch.stop();
	}

	/** Has the registry asked now, and goes on with what comes by itself. */
	async #verify(): Promise<void> {
		const { source, query, clock } = this.#options;
		const { signal } = this.#ended;
		const askedAtMs = clock.now();
		try {
			const snapshot = await source.get(query, { maxAgeMs: 0, signal });
			// The registry was asked after this process has asked: its own clock says so, and the other one's may differ.
			this.#take(snapshot, clock.now() - askedAtMs);
		} catch (error) {
			this.#fail(SpockError.from(error));
		}
		if (!signal.aborted) this.#follow();
	}

	#take(snapshot: S, ageMsMax = Number.POSITIVE_INFINITY): void {
		if (this.#ended.signal.aborted) return;
		const { clock, observer, valueOf, whyStale } = this.#options;
		const isLive = snapshot.source !== 'last-known-good';
		const ageMs = isLive ? Math.min(ageMsMax, this.#ageOf(snapshot)) : this.#ageOf(snapshot);
		const verifiedAtMs = clock.now() - ageMs;
		if (isLive || verifiedAtMs > this.#verifiedAtMs) {
			this.#verifiedAtMs = Math.max(this.#verifiedAtMs, verifiedAtMs);
			// A live one may have been published long ago, and confirmed since.
			const ageHereMs = isLive ? clock.now() - this.#verifiedAtMs : ageMs;
			this.#error = undefined;
			observer.answered(valueOf(snapshot), { ageMs: ageHereMs, ...(!isLive && { isUnconfirmed: true }) });
		}
		if (!isLive) this.#fail(new SpockError('UNAVAILABLE', whyStale(Math.round(clock.now() - this.#verifiedAtMs))));
	}

	#fail(error: SpockError): void {
		if (this.#ended.signal.aborted) return;
		this.#error = error;
		this.#options.observer.failed(error);
	}

	/**
	 * How long ago the registry confirmed it. The time on the way counts, where the clocks of the two machines agree. Since the loss of the
	 * connection, if there is none: the other sidecar has vouched for it until then.
	 */
	#ageOf({ source, ageMs, verifiedAt }: SnapshotState): number {
		const { clock, isConnected } = this.#options;
		if (source === 'static' || !isConnected()) return ageMs;
		const knownMs = knownAgeMs({ ageMs, verifiedAt }, clock.wallNow());
		return Number.isFinite(knownMs) ? knownMs : ageMs;
	}
}
