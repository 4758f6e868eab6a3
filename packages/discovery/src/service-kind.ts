import {
	type Inspection,
	type InstanceFacts,
	normaliseQuery,
	queryKey,
	type ServiceInstance,
	type ServiceQuery,
	type ServiceSnapshot,
	type SnapshotState,
	type WatchStatus,
} from '@spock/protocol';

import type { AnswerKind, EntryInspection, EntryStatus, KeptValue, PublishedChange } from './answer-kind.ts';
import type { Backend, BackendObserver, BackendWatch } from './backend.ts';
import type { DiscoveryEvent } from './discovery-event.ts';
import { InstanceChanges } from './instance-changes.ts';
import { checksOf, takeChecks } from './instance-checks.ts';
import { countHealthy, isPanic } from './panic.ts';
import { diffInstances, isSameList } from './snapshot-diff.ts';
import type { StateStore } from './state/state-store.ts';

type Instances = readonly ServiceInstance[];

/** What {@link ServiceKind} needs. */
export interface ServiceKindOptions {
	readonly backend: Backend;
	/** Fraction of healthy instances below which all are served; 0 for never. */
	readonly panicThreshold: number;
	/** Where answers outlive the process; undefined if nowhere. */
	readonly state: StateStore | undefined;
}

/** Questions for the instances of a service. */
export class ServiceKind implements AnswerKind<ServiceQuery, Instances, ServiceSnapshot> {
	readonly noun = 'service';
	readonly nothing: Instances = Object.freeze([]);
	readonly #options: ServiceKindOptions;
	/** By the question as it was normalised, which is an object of its own for each entry. */
	readonly #changes = new WeakMap<ServiceQuery, InstanceChanges>();

	constructor(options: ServiceKindOptions) {
		this.#options = options;
	}

	nameOf({ service }: ServiceQuery): string {
		return service;
	}

	keyOf(query: ServiceQuery): string {
		return queryKey(query);
	}

	normalise(query: ServiceQuery): ServiceQuery {
		return normaliseQuery(query);
	}

	describe(query: ServiceQuery): ServiceQuery {
		return query;
	}

	watch(query: ServiceQuery, observer: BackendObserver): BackendWatch {
		return this.#options.backend.watch(query, observer);
	}

	isSame(served: Instances, answered: Instances): boolean {
		if (!isSameList(served, answered)) return false;
		takeChecks(served, answered);
		return true;
	}

	trustsEmpty(): boolean {
		return this.#options.backend.trustsEmpty === true;
	}

	makeSnapshot(query: ServiceQuery, instances: Instances, state: SnapshotState): ServiceSnapshot {
		const { revision, source, ageMs, verifiedAt, held } = state;
		return Object.freeze({
			...query,
			revision,
			instances,
			source,
			ageMs,
			verifiedAt,
			...(held && { held }),
			...(isPanic(instances, this.#options.panicThreshold) && { panic: true }),
		});
	}

	published(change: PublishedChange<ServiceQuery, Instances, ServiceSnapshot>): readonly DiscoveryEvent[] {
		const { query, snapshot, value, before, at } = change;
		const diff = diffInstances(before?.value ?? [], value);
		let changes = this.#changes.get(query);
		if (changes === undefined) {
			changes = new InstanceChanges();
			this.#changes.set(query, changes);
		}
		changes.note(diff, at);
		const published = { type: 'published', snapshot, diff, ...(before && { before: before.snapshot }) } as const;
		const active = snapshot.panic === true;
		if (active === (before?.snapshot.panic === true)) return [published];
		const counts = { healthy: countHealthy(value), instances: value.length };
		return [published, { type: 'panic', query, active, ...counts }];
	}

	load(query: ServiceQuery): Promise<KeptValue<Instances> | undefined> | undefined {
		return this.#options.state
			?.load(query)
			.then((kept) => kept && { value: kept.instances, verifiedAt: kept.verifiedAt });
	}

	keep(query: ServiceQuery, instances: Instances, verifiedAt: number): void {
		this.#options.state?.keep(query, instances, verifiedAt);
	}

	/** Everything that is known of a service, for explain. */
	inspection(of: EntryInspection<ServiceQuery, Instances, ServiceSnapshot>): Inspection {
		const { query, value = [], ...rest } = of;
		const changes = this.#changes.get(query);
		const facts = value.map((one): readonly [string, InstanceFacts] => {
			return [one.instance, { changedAt: changes?.changedAt(one.instance) ?? null, checks: checksOf(one) }];
		});
		return { ...rest, instances: new Map(facts) };
	}
}

/** A service being watched, as status tells it. */
export function serviceWatchStatus(query: ServiceQuery, status: EntryStatus<Instances>): WatchStatus {
	const { value: instances = [], ...rest } = status;
	return { ...query, ...rest, instances: instances.length, healthyInstances: countHealthy(instances) };
}
