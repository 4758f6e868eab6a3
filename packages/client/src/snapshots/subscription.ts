import {
	entriesOf,
	isStale,
	type KeyQuery,
	type KeySnapshot,
	type ServiceQuery,
	type ServiceSnapshot,
	type SnapshotObserver,
	type SnapshotSource,
	type SpockError,
} from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';
import { formatAddress, type SocketAddress } from '@spock/protocol/node';
import { Waiters } from '../calls/waiters.ts';
import type { Session } from '../connection/session.ts';
import { snapshotChannel } from '../foundation/diagnostics.ts';
import type { ResolvedOptions } from '../foundation/options.ts';

/** What every snapshot says of itself. */
export type PublishedSnapshot = Pick<ServiceSnapshot, 'revision' | 'source' | 'ageMs' | 'verifiedAt'>;

/** What a subscription needs of the options. */
export type SubscriptionOptions = Pick<ResolvedOptions, 'clock' | 'unref' | 'address'>;

/** One query that is wanted, whether there is a connection or not: its newest snapshot and who is told of it. */
export class Subscription<Q, S extends PublishedSnapshot> {
	readonly key: string;
	readonly query: Q;
	readonly observers: Set<SnapshotObserver<S>> = new Set();
	readonly waiters: Waiters;
	/** When somebody last asked for it. */
	usedAtMs: number;
	/** The session that it is subscribed on, or is being. */
	session: Session | undefined = undefined;
	/** Why there is no snapshot, while there is none. */
	error: SpockError | undefined = undefined;
	readonly #clock: Clock;
	readonly #address: SocketAddress;
	#snapshot: S | undefined;
	/** The process whose revisions the snapshot's counts among. */
	#instance: string | null = null;
	/** When a snapshot that is not live was last true. */
	#verifiedAtMs = 0;

	constructor(key: string, query: Q, { clock, unref, address }: SubscriptionOptions) {
		this.key = key;
		this.query = query;
		this.#clock = clock;
		this.#address = address;
		this.waiters = new Waiters(clock, unref);
		this.usedAtMs = clock.now();
	}

	get idle(): boolean {
		return this.observers.size === 0 && this.waiters.count === 0;
	}

	/** The newest snapshot; its age grows while it is not live. */
	read(): S | undefined {
		const snapshot = this.#snapshot;
		if (snapshot === undefined || !isStale(snapshot)) return snapshot;
		return Object.freeze({ ...snapshot, ageMs: this.#clock.now() - this.#verifiedAtMs });
	}

	/**
	 * Takes a snapshot of this sidecar process, unless one that is as new is known. Equal revisions are news only when
	 * they change whether the snapshot is live.
	 */
	accept(snapshot: S, instance: string | null): void {
		const known = this.#snapshot;
		if (known !== undefined && instance === this.#instance) {
			if (snapshot.revision < known.revision) return;
			if (snapshot.revision === known.revision && snapshot.source === known.source) return;
		}
		this.#instance = instance;
		this.#publish(snapshot, this.#clock.now() - snapshot.ageMs);
	}

	/** The sidecar is away: what is known was true at this moment, or even before if it was stale then. */
	lost(verifiedAtMs: number): void {
		this.session = undefined;
		const snapshot = this.#snapshot;
		if (snapshot === undefined || isStale(snapshot)) return;
		this.#publish({ ...snapshot, source: 'last-known-good' }, verifiedAtMs);
	}

	/** News came that nobody can read: what is known may be outdated, and is told anew by whatever comes next. */
	doubt(): void {
		const snapshot = this.#snapshot;
		if (snapshot === undefined || isStale(snapshot)) return;
		this.#publish({ ...snapshot, source: 'last-known-good' }, this.#clock.now());
	}

	/** There is no snapshot to give. Whoever has one keeps it. */
	fail(error: SpockError): void {
		if (this.#snapshot !== undefined) return;
		this.error = error;
		this.waiters.endAll(error);
		for (const observer of [...this.observers]) if (this.observers.has(observer)) observer.error?.(error);
	}

	#publish(snapshot: S, verifiedAtMs: number): void {
		this.error = undefined;
		const previousSource = this.#snapshot?.source;
		this.#snapshot = snapshot;
		this.#verifiedAtMs = verifiedAtMs;
		this.waiters.endAll();
		const now = this.read() as S;
		if (snapshotChannel.hasSubscribers) this.#tell(now, previousSource);
		// An observer may stop others, or start new ones that are told by themselves.
		for (const observer of [...this.observers]) if (this.observers.has(observer)) observer.next(now);
	}

	#tell(snapshot: S, previousSource: SnapshotSource | undefined): void {
		const { revision, source, ageMs, verifiedAt } = snapshot;
		// There are the two kinds, and no more.
		const known = snapshot as unknown as ServiceSnapshot | KeySnapshot;
		snapshotChannel.publish({
			address: formatAddress(this.#address),
			query: this.query as ServiceQuery | KeyQuery,
			revision,
			source,
			previousSource,
			ageMs,
			verifiedAt,
			count: 'instances' in known ? known.instances.length : entriesOf(known).length,
		});
	}
}
