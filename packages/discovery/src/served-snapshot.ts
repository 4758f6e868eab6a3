import type {
	InstanceFacts,
	ServiceInstance,
	ServiceQuery,
	ServiceSnapshot,
	SnapshotObserver,
	SpockError,
} from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { DiscoveryListener } from './discovery-event.ts';
import { InstanceChanges } from './instance-changes.ts';
import { checksOf } from './instance-checks.ts';
import { countHealthy, isPanic } from './panic.ts';
import { diffInstances } from './snapshot-diff.ts';
import type { StateStore } from './state/state-store.ts';

/** What a served snapshot needs from its cache. */
export interface ServedSnapshotContext {
	readonly clock: Clock;
	readonly onEvent: DiscoveryListener;
	/** Gives the next revision: one count for the whole process, so that no entry ever goes back. */
	readonly nextRevision: () => number;
	/** Age past which a stale snapshot is not served any more, in milliseconds. */
	readonly staleMaxMs: number;
	/** Fraction of healthy instances below which all are served; 0 for never. */
	readonly panicThreshold: number;
	/** Where answers outlive the process; undefined if nowhere. */
	readonly state: StateStore | undefined;
}

/** How what is published stands: confirmed, or not, or denied and held. */
export type Standing = 'fresh' | 'held' | 'stale';

/** What one question is answered with, how old that is, and who is told. */
export class ServedSnapshot {
	readonly observers: Set<SnapshotObserver> = new Set();
	readonly #query: ServiceQuery;
	readonly #context: ServedSnapshotContext;
	readonly #changes = new InstanceChanges();
	// While the entry is fresh this object stays the same until something changes: readers memoise its bytes by identity.
	#snapshot: ServiceSnapshot | undefined;
	#verifiedAtMs = 0;
	#changedAt: number | null = null;

	constructor(query: ServiceQuery, context: ServedSnapshotContext) {
		this.#query = query;
		this.#context = context;
	}

	/** What is served; undefined before there is anything. */
	get instances(): readonly ServiceInstance[] | undefined {
		return this.#snapshot?.instances;
	}

	/** 0 before there is anything. */
	get revision(): number {
		return this.#snapshot?.revision ?? 0;
	}

	/** Since the registry confirmed what is served, in milliseconds. */
	get ageMs(): number {
		return Math.max(0, this.#context.clock.now() - this.#verifiedAtMs);
	}

	/** When instances or source last changed, in milliseconds since 1970. */
	get changedAt(): number | null {
		return this.#changedAt;
	}

	/** The registry has confirmed, at this moment of the clock, what is served or is about to be published. */
	verified(atMs: number): void {
		this.#verifiedAtMs = atMs;
	}

	/** What can be served now: the live snapshot, or a copy of the last known one with its age; undefined if neither. */
	read(isLive: boolean): ServiceSnapshot | undefined {
		const snapshot = this.#snapshot;
		if (snapshot === undefined || isLive) return snapshot;
		const { ageMs } = this;
		return ageMs > this.#context.staleMaxMs ? undefined : Object.freeze({ ...snapshot, ageMs });
	}

	/** As `read`, with the time of the last verification, which nobody was told where nothing had changed. */
	readVerified(isLive: boolean): ServiceSnapshot | undefined {
		const snapshot = this.read(isLive);
		return snapshot && Object.freeze({ ...snapshot, verifiedAt: this.#verifiedAt() });
	}

	/** Makes these instances the answer, and tells everybody. */
	publish(instances: readonly ServiceInstance[], standing: Standing): void {
		const { clock, onEvent, nextRevision, panicThreshold } = this.#context;
		const before = this.#snapshot;
		const isLive = standing === 'fresh';
		const isPanicking = isPanic(instances, panicThreshold);
		const snapshot: ServiceSnapshot = Object.freeze({
			...this.#query,
			revision: nextRevision(),
			instances,
			source: isLive ? 'live' : 'last-known-good',
			ageMs: isLive ? 0 : this.ageMs,
			verifiedAt: this.#verifiedAt(),
			...(standing === 'held' && { held: true }),
			...(isPanicking && { panic: true }),
		});
		this.#snapshot = snapshot;
		this.#changedAt = clock.wallNow();
		const diff = diffInstances(before?.instances ?? [], instances);
		this.#changes.note(diff, this.#changedAt);
		onEvent({ type: 'published', snapshot, diff });
		if (isPanicking !== (before?.panic === true)) {
			const counts = { healthy: countHealthy(instances), instances: instances.length };
			onEvent({ type: 'panic', query: this.#query, active: isPanicking, ...counts });
		}
		if (isLive) this.keep();
		this.#tell((observer) => observer.next(snapshot));
	}

	/** Has the state directory keep what is served, and when that was verified; it writes what has changed. */
	keep(): void {
		this.#context.state?.keep(this.#query, this.instances ?? [], this.#verifiedAt());
	}

	/** What is known of each instance beyond its place in the snapshot. */
	facts(): ReadonlyMap<string, InstanceFacts> {
		const facts = (this.instances ?? []).map((one) => {
			return [one.instance, { changedAt: this.#changes.changedAt(one.instance), checks: checksOf(one) }] as const;
		});
		return new Map(facts);
	}

	/** Told while there is nothing to serve. */
	tellError(error: SpockError): void {
		this.#tell((observer) => observer.error?.(error));
	}

	#tell(say: (observer: SnapshotObserver) => void): void {
		// A copy, because an observer may stop or start watches while it is told.
		for (const observer of [...this.observers]) {
			if (!this.observers.has(observer)) continue;
			try {
				say(observer);
			} catch (fault) {
				// One reader's fault is raised where the process hears of it, and costs no other reader its change.
				queueMicrotask(() => {
					throw fault;
				});
			}
		}
	}

	#verifiedAt(): number {
		const { clock } = this.#context;
		return Math.round(clock.wallNow() - (clock.now() - this.#verifiedAtMs));
	}
}
