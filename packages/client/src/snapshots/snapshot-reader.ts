import { isStale, type ReadOptions, SpockError, tooOldError } from '@spock/protocol';
import { ageClockOf, withAnySignal } from '@spock/protocol/internal';
import { timeLeft } from '../calls/outgoing-call.ts';
import type { Session } from '../connection/session.ts';
import { closedError, silentSidecarHint, throwIfAborted } from '../foundation/errors.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import type { SnapshotStore } from './snapshot-store.ts';
import { assertAge, type PublishedSnapshot, type StoredSnapshot } from './stored-snapshot.ts';
import type { StandIn, SubscriptionKind, SubscriptionPort } from './subscription-kind.ts';

/** What a reader needs of the feed. */
export interface ReadFeed<Q, S extends PublishedSnapshot> {
	readonly store: SnapshotStore<Q, S>;
	/** The session that calls go to; undefined without a connection. */
	readonly session: Session | undefined;
	/** Subscribes now instead of at the next attempt after a refusal. */
	hurry(stored: StoredSnapshot<Q, S>): void;
	/** True once the sidecar has sent this snapshot. */
	hasSent(stored: StoredSnapshot<Q, S>): boolean;
	/** Takes the time of verification from an answer on this session, if the same process feeds the same snapshot. */
	verify(stored: StoredSnapshot<Q, S>, snapshot: S, session: Session): void;
}

/** Answers requests for one snapshot: from the store if that is young enough, else over the wire or from the stand-in. */
export class SnapshotReader<Q, S extends PublishedSnapshot> {
	readonly #kind: SubscriptionKind<Q, S>;
	readonly #port: SubscriptionPort;
	readonly #options: ResolvedOptions;
	readonly #feed: ReadFeed<Q, S>;
	readonly #standIn: StandIn<Q, S> | undefined;

	constructor(
		kind: SubscriptionKind<Q, S>,
		port: SubscriptionPort,
		options: ResolvedOptions,
		feed: ReadFeed<Q, S>,
		standIn: StandIn<Q, S> | undefined,
	) {
		this.#kind = kind;
		this.#port = port;
		this.#options = options;
		this.#feed = feed;
		this.#standIn = standIn;
	}

	async get(query: Q, options: ReadOptions = {}): Promise<S> {
		const { timeoutMs = this.#options.timeoutMs, signal } = options;
		const { getFunc } = this.#kind;
		const { connection } = this.#port;
		throwIfAborted(signal, getFunc);
		if (this.#feed.store.isClosed) throw closedError();
		const isFed = this.#port.pushes !== false || this.#standIn?.isAway === true;
		const stored = isFed ? this.#feed.store.open(query, options.timeoutMs) : undefined;
		if (stored === undefined) return this.#getUnstored(query, options);
		const known = stored.read();
		if (known !== undefined) return this.#young(stored, known, options);
		const refusal = connection.refusal(getFunc);
		// With `whileDisconnected: 'fail'` the stand-in is used at once.
		if (refusal?.code === 'DISCONNECTED' && this.#standIn !== undefined) return this.#standIn.get(query, options);
		if (refusal !== undefined) throw refusal;
		// A refused subscription waits for its next attempt, but this caller need not.
		this.#feed.hurry(stored);
		const left = timeLeft(options, this.#options);
		let first: S;
		try {
			const wait = { timeoutMs, signal };
			first = await stored.waiters.wait(getFunc, wait, () => this.#noSnapshotError(stored, timeoutMs));
		} catch (error) {
			if (this.#port.pushes !== false || !SpockError.is(error, 'UNKNOWN_FUNC')) throw error;
			return this.fetch(query, left());
		}
		return this.#young(stored, first, left());
	}

	/** Requests the snapshot that the sidecar has now. */
	async fetch(query: Q, options: ReadOptions = {}): Promise<S> {
		const { maxAgeMs } = options;
		const { getFunc, fetched, noun } = this.#kind;
		const data = { ...this.#kind.normalise(query), ...(maxAgeMs !== undefined && { maxAgeMs }) };
		const ages = ageClockOf(this.#options.clock);
		const { standstills } = ages;
		const askedAtMs = ages.now();
		const left = timeLeft(options, this.#options);
		const request = async (): Promise<S> => (await this.#port.call(getFunc, data, fetched, left())) as S;
		let sent = await request();
		// The reply may have waited for this process.
		if (ages.standstills !== standstills || ages.waitedMs(askedAtMs) > (maxAgeMs ?? Number.POSITIVE_INFINITY)) {
			sent = await request();
		}
		const snapshot = this.#feed.session?.inOwnTime(sent) ?? sent;
		const ageMs = Math.round(ages.ageOfRead(snapshot));
		// An older sidecar does not check maxAgeMs.
		assertAge(ageMs, maxAgeMs, noun, this.#kind.nameOf(query));
		return ageMs === snapshot.ageMs || !isStale(snapshot) ? snapshot : Object.freeze({ ...snapshot, ageMs });
	}

	/** The known snapshot, if it is young enough for the caller; else the sidecar's answer, which may verify it. */
	async #young(stored: StoredSnapshot<Q, S>, known: S, options: ReadOptions): Promise<S> {
		const { maxAgeMs } = options;
		// What was pushed right behind the answer is there before this caller goes on: it is judged, and it is what is returned.
		if (maxAgeMs === undefined || stored.isYoung(maxAgeMs)) return stored.read() ?? known;
		const { noun, nameOf } = this.#kind;
		const tooOld = tooOldError(noun, nameOf(stored.query), stored.knownAgeMs(), maxAgeMs);
		const { session } = this.#feed;
		if (session === undefined) return this.#fetchWhenBack(stored, options, tooOld);
		const snapshot = await this.fetch(stored.query, options);
		this.#feed.verify(stored, snapshot, session);
		return snapshot;
	}

	/** While the sidecar is away: it may return before the deadline, and the stand-in may know what it has never sent. */
	async #fetchWhenBack(stored: StoredSnapshot<Q, S>, options: ReadOptions, tooOld: SpockError): Promise<S> {
		const { connection } = this.#port;
		const { query } = stored;
		const standIn = this.#feed.hasSent(stored) ? undefined : this.#standIn;
		if (connection.refusal(this.#kind.getFunc) !== undefined) {
			if (standIn === undefined) throw tooOld;
			return this.#askStandIn(standIn, stored, options);
		}
		const left = timeLeft(options, this.#options);
		let reason = tooOld;
		const fetching = async (signal: AbortSignal): Promise<S> => {
			await connection.ready({ timeoutMs: left().timeoutMs, signal });
			return this.fetch(query, { ...left(), signal });
		};
		try {
			return await this.#race(
				options.signal,
				fetching,
				(fetched) =>
					standIn &&
					this.#askStandIn(standIn, stored, left()).catch((error: unknown) => {
						reason = SpockError.from(error);
						return fetched;
					}),
			);
		} catch (error) {
			throw SpockError.is(error, 'TIMEOUT') ? reason : error;
		}
	}

	/** Asks the stand-in; its answer may verify the stored snapshot that it feeds. */
	async #askStandIn(standIn: StandIn<Q, S>, stored: StoredSnapshot<Q, S>, options: ReadOptions): Promise<S> {
		const snapshot = await standIn.get(stored.query, options);
		if (standIn.feeds(stored)) stored.verify(snapshot);
		return snapshot;
	}

	/** When the store is full: asks the sidecar, and the stand-in, for this caller alone. */
	async #getUnstored(query: Q, options: ReadOptions): Promise<S> {
		const standIn = this.#standIn;
		if (standIn === undefined) return this.fetch(query, options);
		const { getFunc } = this.#kind;
		const left = timeLeft(options, this.#options);
		const stored = this.#feed.store.unstored(query);
		let reason: SpockError | undefined;
		const standingIn = async (fetched: Promise<S>): Promise<S> => {
			const wait = { timeoutMs: left().timeoutMs, signal: undefined };
			const known = await stored.waiters.wait(getFunc, wait, closedError).catch(() => undefined);
			if (known === undefined) return fetched;
			if (stored.isYoung(options.maxAgeMs)) return stored.read() ?? known;
			return standIn.get(query, left()).catch((error: unknown) => {
				reason = SpockError.from(error);
				return fetched;
			});
		};
		standIn.start(stored);
		try {
			return await this.#race(options.signal, (signal) => this.fetch(query, { ...left(), signal }), standingIn);
		} catch (error) {
			if (SpockError.is(error, 'TIMEOUT')) throw reason ?? standIn.explain(stored, error);
			if (!standIn.isAway || !SpockError.is(error, 'DISCONNECTED')) throw error;
			return await standIn.get(query, left());
		} finally {
			standIn.stop(stored);
			stored.end(closedError());
		}
	}

	/** The first answer of sidecar and stand-in; ends the wait for the sidecar. */
	async #race(
		signal: AbortSignal | undefined,
		fetch: (signal: AbortSignal) => Promise<S>,
		other: (fetched: Promise<S>) => Promise<S> | undefined,
	): Promise<S> {
		const won = new AbortController();
		const fetched = withAnySignal([signal, won.signal], fetch);
		const others = other(fetched);
		// The end of the slower one concerns no caller.
		fetched.catch(() => undefined);
		others?.catch(() => undefined);
		try {
			return await Promise.race([fetched, others ?? fetched]);
		} finally {
			won.abort();
		}
	}

	/** Why no snapshot came in time: what the sidecar has answered, or TIMEOUT with the reason as far as the connection knows it. */
	#noSnapshotError(stored: StoredSnapshot<Q, S>, timeoutMs: number): SpockError {
		const { connection } = this.#port;
		const { noun } = this.#kind;
		const name = this.#kind.nameOf(stored.query);
		const isReady = connection.state === 'ready';
		// The sidecar has sent the reason.
		if (isReady && stored.error !== undefined) return stored.error;
		const why = isReady ? `; ${silentSidecarHint(this.#options.address)}` : `, because ${connection.whyNotReady()}`;
		const message = `no snapshot of ${JSON.stringify(name)} came within ${timeoutMs} ms${why}`;
		const timeout = new SpockError('TIMEOUT', message, { details: { [noun]: name, timeoutMs } });
		return this.#standIn?.explain(stored, timeout) ?? timeout;
	}
}
