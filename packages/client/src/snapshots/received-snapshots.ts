import {
	entriesOf,
	isStale,
	type KeyQuery,
	type KeySnapshot,
	type ServiceQuery,
	type ServiceSnapshot,
} from '@spock/protocol';
import { type AgeClock, ageClockOf } from '@spock/protocol/internal';
import { formatAddress } from '@spock/protocol/node';
import type { Session } from '../connection/session.ts';
import { snapshotChannel } from '../foundation/diagnostics.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import type { PublishedSnapshot, StoredSnapshot } from './stored-snapshot.ts';
import { instanceOf, type Subscription } from './subscription.ts';
import type { StandIn } from './subscription-kind.ts';

/** What becomes of the snapshots that a sidecar sends: which one is stored, whether as live or as last known, and how old it is. */
export class ReceivedSnapshots<Q, S extends PublishedSnapshot> {
	readonly #options: Pick<ResolvedOptions, 'address' | 'clock'>;
	readonly #ages: AgeClock;
	readonly #standIn: StandIn<Q, S> | undefined;

	constructor(options: Pick<ResolvedOptions, 'address' | 'clock'>, standIn: StandIn<Q, S> | undefined) {
		this.#options = options;
		this.#ages = ageClockOf(options.clock);
		this.#standIn = standIn;
	}

	/** Stores a snapshot unless it is older. An equal revision is stored only if it changes whether the snapshot is live, or an older one. */
	accept(subscription: Subscription<Q, S>, sent: S, session: Session): void {
		const { stored } = subscription;
		const instance = instanceOf(session);
		const snapshot = session.inOwnTime(sent);
		const known = stored.current;
		subscription.base = snapshot;
		if (known !== undefined && instance === subscription.instance) {
			if (snapshot.revision < known.revision) return;
			const { revision, source, oversize } = snapshot;
			if (revision === known.revision && source === known.source && oversize === known.oversize) {
				// The same content: one copy of it is enough.
				subscription.base = known;
				return;
			}
		}
		this.#standIn?.stop(stored);
		if (known !== undefined && this.#isOutdated(subscription, snapshot, instance)) {
			// Observers are notified: the sidecar that does not confirm it may be another one.
			const knownAgeMs = stored.isStale ? stored.ageMs : 0;
			this.#put(stored, { ...known, source: 'last-known-good' }, this.#ages.now() - knownAgeMs);
			return;
		}
		subscription.instance = instance;
		this.#put(stored, snapshot, this.#ages.now() - this.#ages.ageOfRead(snapshot));
		if (subscription.isWaited) this.markStale(subscription, this.#ages.sentAtMs());
	}

	/** Marks a live snapshot as last known, verified at this time. */
	markStale({ stored, instance }: Subscription<Q, S>, verifiedAtMs: number): void {
		const { current } = stored;
		if (current === undefined || instance === undefined || isStale(current)) return;
		this.#put(stored, { ...current, source: 'last-known-good' }, verifiedAtMs);
	}

	/** The sidecar has answered since this process stood still: what it sent last is true. */
	confirm(subscription: Subscription<Q, S>): void {
		const { stored, base, isWaited } = subscription;
		subscription.isWaited = false;
		const { current } = stored;
		if (!isWaited || base === undefined || isStale(base) || current === undefined || !isStale(current)) return;
		const own = subscription.session?.inOwnTime(base) ?? base;
		this.#put(stored, own, this.#ages.now());
	}

	/** True for what another process remembers, if what is known is newer: a sidecar that was restarted may know less than its clients. */
	#isOutdated({ stored, instance }: Subscription<Q, S>, snapshot: S, newest: string | null): boolean {
		if (newest === instance || snapshot.source !== 'last-known-good') return false;
		return snapshot.ageMs > (stored.isStale ? stored.ageMs : 0);
	}

	#put(stored: StoredSnapshot<Q, S>, snapshot: S, verifiedAtMs: number): void {
		if (snapshotChannel.hasSubscribers) {
			const { revision, source, verifiedAt } = snapshot;
			// Only these two kinds exist.
			const known = snapshot as unknown as ServiceSnapshot | KeySnapshot;
			snapshotChannel.publish({
				address: formatAddress(this.#options.address),
				query: stored.query as ServiceQuery | KeyQuery,
				revision,
				source,
				previousSource: stored.current?.source,
				ageMs: isStale(snapshot) ? Math.round(this.#ages.now() - verifiedAtMs) : snapshot.ageMs,
				verifiedAt,
				count: 'instances' in known ? known.instances.length : entriesOf(known).length,
			});
		}
		stored.put(snapshot, verifiedAtMs);
	}
}
