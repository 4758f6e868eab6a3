import type { BackendObserver, BackendWatch } from '@spock/discovery';
import {
	type ErrorCode,
	isStale,
	knownAgeMs,
	type SnapshotState,
	type SourceWatch,
	SpockError,
	type WatchedSource,
} from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

/** What the connection to the other sidecar fails with. */
export const OWN_CODES: ReadonlySet<ErrorCode> = new Set(['TIMEOUT', 'DISCONNECTED', 'NOT_READY', 'CLOSED']);

/** How to watch one query at another sidecar. */
export interface UpstreamWatchOptions<Q, S, V> {
	readonly source: WatchedSource<Q, S>;
	readonly query: Q;
	readonly observer: BackendObserver<V>;
	/** The answer in a snapshot. */
	readonly answerIn: (snapshot: S) => V;
	/** True to have the first answer verified by the registry, and not only by the other sidecar's own watch. */
	readonly verifies: boolean;
	readonly clock: Clock;
	/** True while the other sidecar is connected. */
	readonly isConnected: () => boolean;
	/** The process of the sidecar that was connected last. */
	readonly process: () => string;
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
	/** When what was reported last was live, by the clock. */
	#vouchedAtMs = Number.NEGATIVE_INFINITY;
	/** What has just been verified is no older than this. */
	#ageMsMax = Number.POSITIVE_INFINITY;
	/** Whether it is still. */
	#isLive = false;
	/** Whose answer that was. */
	#process: string | undefined;

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
		else if (this.#vouchedAtMs === Number.NEGATIVE_INFINITY && !isConnected())
			this.#fail(new SpockError('UNAVAILABLE', whyStale(0)));
	}

	#follow(verified?: S): void {
		const { source, query } = this.#options;
		let isFirst = verified !== undefined;
		this.#watch = source.watch(query, {
			// What is known already may be from the process before, and older than what was verified.
			next: (snapshot) => this.#take(isFirst && verified !== undefined && isStale(snapshot) ? verified : snapshot),
			error: (error) => this.#fail(error),
		});
		isFirst = false;
		if (this.#ended.signal.aborted) this.#watch.stop();
	}

	/** Has the registry asked now, and goes on with what comes by itself. */
	async #verify(): Promise<void> {
		const { source, query, clock } = this.#options;
		const { signal } = this.#ended;
		const askedAtMs = clock.now();
		let verified: S | undefined;
		try {
			verified = await source.get(query, { maxAgeMs: 0, signal });
			// The registry was asked after this process has asked: its own clock says so, and the other one's may differ.
			this.#ageMsMax = clock.now() - askedAtMs;
		} catch (error) {
			this.#fail(SpockError.from(error));
		}
		if (!signal.aborted) this.#follow(verified);
		this.#ageMsMax = Number.POSITIVE_INFINITY;
	}

	#take(snapshot: S): void {
		if (this.#ended.signal.aborted) return;
		const { clock, observer, answerIn, whyStale } = this.#options;
		const isLive = !isStale(snapshot);
		// Since the loss of the connection, if there is none: the other sidecar has vouched for it until then.
		const vouchedAgeMs = isLive ? 0 : this.#sinceVouched(snapshot);
		const vouchedAtMs = clock.now() - vouchedAgeMs;
		const newest = this.#options.process();
		// The process before this one has vouched for what it sent until this one took its place.
		if (this.#isLive && newest !== this.#process) this.#vouchedAtMs = clock.now();
		if (isLive || newest === this.#process || vouchedAtMs > this.#vouchedAtMs) {
			this.#process = newest;
			this.#isLive = isLive;
			this.#vouchedAtMs = vouchedAtMs;
			this.#error = undefined;
			const ageMs = Math.max(vouchedAgeMs, Math.min(this.#ageMsMax, this.#sinceVerified(snapshot)));
			observer.answered(answerIn(snapshot), { ageMs, vouchedAgeMs, ...(!isLive && { isUnconfirmed: true }) });
		}
		if (isLive) return;
		this.#isLive = false;
		this.#fail(new SpockError('UNAVAILABLE', whyStale(Math.round(clock.now() - this.#vouchedAtMs))));
	}

	#fail(reason: SpockError): void {
		if (this.#ended.signal.aborted) return;
		// What a client is told of its own connection is no answer of the registry.
		const isOwn = OWN_CODES.has(reason.code);
		const error = isOwn ? new SpockError('UNAVAILABLE', this.#options.whyStale(0), { cause: reason }) : reason;
		this.#error = error;
		this.#options.observer.failed(error);
	}

	/** The time on the way counts, where the clocks of the two machines agree. */
	#sinceVouched({ ageMs, verifiedAt }: SnapshotState): number {
		const { clock, isConnected } = this.#options;
		if (!isConnected()) return ageMs;
		const knownMs = knownAgeMs({ ageMs, verifiedAt }, clock.wallNow());
		return Number.isFinite(knownMs) ? knownMs : ageMs;
	}

	/** As far as it is known: for a live one since it was published, although it may have been verified since. */
	#sinceVerified({ source, ageMs, verifiedAt }: SnapshotState): number {
		if (source === 'static') return ageMs;
		const knownMs = knownAgeMs({ ageMs, verifiedAt }, this.#options.clock.wallNow());
		return Number.isFinite(knownMs) ? knownMs : ageMs;
	}
}
