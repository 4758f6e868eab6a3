import type { BackendObserver, BackendWatch } from '@spock/discovery';
import {
	type CallOptions,
	type ErrorCode,
	isStale,
	knownAgeMs,
	type SnapshotState,
	type SourceWatch,
	SpockError,
	type WatchedSource,
} from '@spock/protocol';
import { ageClockOf, type Clock } from '@spock/protocol/internal';

/** What the connection to the other sidecar fails with, and an answer that cannot be read. */
export const OWN_CODES: ReadonlySet<ErrorCode> = new Set([
	'TIMEOUT',
	'DISCONNECTED',
	'NOT_READY',
	'CLOSED',
	'PROTOCOL',
]);

/** In place of a process: another source than the other sidecar. */
const FALLBACK = 'fallback';

/** How to watch one query at another sidecar. */
export interface UpstreamWatchOptions<Q, S, V> {
	readonly source: WatchedSource<Q, S>;
	readonly query: Q;
	readonly observer: BackendObserver<V>;
	/** The answer in a snapshot. */
	readonly answerIn: (snapshot: S) => V;
	/** Has the other sidecar ask its registry now: what is known already is no answer then. Undefined: it is one. */
	readonly verify: ((query: Q, options: CallOptions) => Promise<S>) | undefined;
	readonly clock: Clock;
	/** True while the other sidecar is connected. */
	readonly isConnected: () => boolean;
	/** True while the times of the other sidecar can be believed. */
	readonly knowsTime: () => boolean;
	/** The process of the sidecar that was connected last. */
	readonly process: () => string;
	/** For people: why what the other sidecar sent last is not confirmed. `isOversize`: it has a newer one, which does not fit into a frame. */
	readonly whyStale: (ageMs: number, isOversize?: boolean) => string;
	/** A live answer has changed there so long ago, by the clocks of both machines. Not called for what was there at first. */
	readonly changed?: (lagMs: number) => void;
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
	/** When what was reported last was live, by the age clock. */
	#vouchedAtMs = Number.NEGATIVE_INFINITY;
	/** Of that one. */
	#revision = 0;
	/** Whether it is still. */
	#isLive = false;
	/** Whose answer that was. */
	#process: string | undefined;

	constructor(options: UpstreamWatchOptions<Q, S, V>) {
		this.#options = options;
		this.#follow(options.verify !== undefined);
		if (options.verify !== undefined) void this.#verify(options.verify);
	}

	stop(): void {
		this.#ended.abort();
		this.#watch?.stop();
	}

	/** Reports the failure again, if there is one; and that the other sidecar is away, where it has never answered. */
	repeat(): void {
		if (this.#ended.signal.aborted) return;
		const { observer, isConnected, whyStale } = this.#options;
		if (this.#watch === undefined) this.#follow(false);
		else if (this.#error !== undefined) observer.failed(this.#error);
		else if (this.#vouchedAtMs === Number.NEGATIVE_INFINITY && !isConnected()) {
			this.#fail(new SpockError('UNAVAILABLE', whyStale(0)));
		}
	}

	#follow(isKnownIgnored: boolean): void {
		const { source, query } = this.#options;
		let isKnown = true;
		try {
			this.#watch = source.watch(query, {
				next: (snapshot) => {
					if (!isKnown || !isKnownIgnored) this.#take(snapshot);
				},
				error: (error) => this.#fail(error),
			});
		} catch (error) {
			// For example at a limit. It is tried again when the failure is repeated.
			this.#fail(SpockError.from(error));
		}
		isKnown = false;
		if (this.#ended.signal.aborted) this.#watch?.stop();
	}

	async #verify(verify: (query: Q, options: CallOptions) => Promise<S>): Promise<void> {
		const { source, query, clock, process, knowsTime } = this.#options;
		const ages = ageClockOf(clock);
		const askedAtMs = ages.now();
		try {
			const snapshot = await verify(query, { signal: this.#ended.signal });
			// What was pushed meanwhile may be newer.
			const isOlder = this.#process === process() && snapshot.revision < this.#revision;
			// Where the clocks may differ: the registry was asked after this process has asked.
			if (!isOlder) this.#take(snapshot, knowsTime() ? Number.POSITIVE_INFINITY : ages.now() - askedAtMs);
		} catch (error) {
			this.#fail(SpockError.from(error));
			// What is known stands, and may not come again by itself.
			const known = source.peek(query);
			if (known !== undefined) this.#take(known);
		}
	}

	#take(snapshot: S, ageMsMax = Number.POSITIVE_INFINITY): void {
		if (this.#ended.signal.aborted) return;
		const { clock, observer, answerIn, whyStale, isConnected } = this.#options;
		const nowMs = ageClockOf(clock).now();
		const isLive = !isStale(snapshot);
		// Since the loss of the connection, if there is none: the other sidecar has vouched for it until then.
		const vouchedAgeMs = isLive ? 0 : snapshot.ageMs;
		const vouchedAtMs = nowMs - vouchedAgeMs;
		// What is live without a connection comes from the fallback.
		const newest = isLive && !isConnected() ? FALLBACK : this.#options.process();
		const isChange = this.#isLive && isLive && newest === this.#process && snapshot.revision > this.#revision;
		if (isChange && snapshot.source !== 'static') {
			this.#options.changed?.(Math.max(0, clock.wallNow() - snapshot.verifiedAt));
		}
		// The process before this one has vouched for what it sent until this one took its place.
		if (this.#isLive && newest !== this.#process) this.#vouchedAtMs = nowMs;
		if (isLive || newest === this.#process || vouchedAtMs > this.#vouchedAtMs) {
			this.#process = newest;
			this.#isLive = isLive;
			this.#revision = snapshot.revision;
			this.#vouchedAtMs = vouchedAtMs;
			this.#error = undefined;
			const ageMs = Math.max(vouchedAgeMs, Math.min(ageMsMax, this.#sinceVerified(snapshot)));
			const { emptied: isEmptied } = snapshot;
			observer.answered(answerIn(snapshot), {
				...{ ageMs, vouchedAgeMs },
				...(!isLive && { isUnconfirmed: true }),
				...(isEmptied && { isEmptied }),
			});
		}
		if (isLive) return;
		this.#isLive = false;
		this.#fail(
			new SpockError('UNAVAILABLE', whyStale(Math.round(nowMs - this.#vouchedAtMs), snapshot.oversize === true)),
		);
	}

	#fail(reason: SpockError): void {
		if (this.#ended.signal.aborted) return;
		// What a client learns of its own connection is no answer of the registry.
		const isOwn = OWN_CODES.has(reason.code);
		const error = isOwn ? new SpockError('UNAVAILABLE', this.#options.whyStale(0), { cause: reason }) : reason;
		this.#error = error;
		this.#options.observer.failed(error);
	}

	/** For a live one since it was published, although it may have been verified since; Infinity if unknown. */
	#sinceVerified({ source, ageMs, verifiedAt }: SnapshotState): number {
		return source === 'static' ? ageMs : knownAgeMs({ ageMs, verifiedAt }, this.#options.clock.wallNow());
	}
}
