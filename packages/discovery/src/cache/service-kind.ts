import {
	type Inspection,
	type InstanceFacts,
	isAskedFor,
	isServing,
	normaliseQuery,
	queryKey,
	type ServiceInstance,
	type ServiceQuery,
	type ServiceSnapshot,
	type SnapshotState,
	type WatchStatus,
} from '@spock/protocol';
import { hasConditions, scopeOf } from '@spock/protocol/internal';

import type { Backend, BackendObserver, BackendWatch } from '../foundation/backend.ts';
import type { DiscoveryEvent, DiscoveryListener } from '../foundation/discovery-event.ts';
import { goodInstances, whileGood } from '../foundation/good-instances.ts';
import { checksOf, isSameRefused, type Refused, refusedOf, takeChecks } from '../foundation/instance-notes.ts';
import { diffInstances, isSameList, type SnapshotDiff } from '../foundation/snapshot-diff.ts';
import type { KeptValue } from '../state/state-body.ts';
import type { StateStore } from '../state/state-store.ts';
import type { AnswerKind, EntryInspection, EntryStatus, PublishedChange } from './answer-kind.ts';
import { bytesOfInstances } from './instance-bytes.ts';

type Instances = readonly ServiceInstance[];

/** What {@link ServiceKind} needs. */
export interface ServiceKindOptions {
	readonly backend: Backend;
	/** Share of healthy instances below which all are served; 0 for never. */
	readonly panicThreshold: number;
	/** Where answers are stored for the next process; undefined if nowhere. */
	readonly state: StateStore | undefined;
	readonly onEvent: DiscoveryListener;
}

/** Queries for the instances of a service. */
export class ServiceKind implements AnswerKind<ServiceQuery, Instances, ServiceSnapshot> {
	readonly noun = 'service';
	readonly nothing: Instances = Object.freeze([]);
	readonly #options: ServiceKindOptions;
	/** By the normalised query, which is a separate object for each entry. */
	readonly #changes = new WeakMap<ServiceQuery, InstanceChanges>();
	/** The invalid entries that the last answer to a query was stripped of. */
	readonly #refused = new WeakMap<ServiceQuery, Refused>();

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
		const { backend } = this.#options;
		const noting: BackendObserver = {
			answered: (instances, meta) => {
				this.#noteRefused(query, refusedOf(instances));
				observer.answered(instances, meta);
			},
			failed: (error) => observer.failed(error),
			endIfUnread: () => observer.endIfUnread?.() ?? false,
		};
		return backend.watch(query, whileGood(backend.name, noting));
	}

	bytesOf(instances: Instances): number {
		return bytesOfInstances(instances);
	}

	isSame(served: Instances, answered: Instances): boolean {
		if (!isSameList(served, answered)) return false;
		takeChecks(served, answered);
		return true;
	}

	trustsEmpty(): boolean {
		return this.#options.backend.trustsEmpty === true;
	}

	consistsOf(instances: Instances, names: ReadonlySet<string>): boolean {
		return instances.every(({ instance }) => names.has(instance));
	}

	explainEmpty(query: ServiceQuery, explained: () => void): (() => void) | undefined {
		if (!hasConditions(query)) return undefined;
		// If the service has instances, none of which meets the conditions, the registry has not lost its data.
		const ended = new AbortController();
		readOnce(this.#options.backend, scopeOf(query), ended.signal).then(
			(instances) => {
				const isThere = instances.length > 0 && !instances.some((one) => isAskedFor(query, one));
				if (isThere && !ended.signal.aborted) explained();
			},
			// Without an answer the hold continues.
			() => undefined,
		);
		return () => ended.abort();
	}

	makeSnapshot(query: ServiceQuery, instances: Instances, state: SnapshotState): ServiceSnapshot {
		const { revision, ...standing } = state;
		return Object.freeze({
			...query,
			revision,
			instances,
			...standing,
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

	/** Everything known of a service, for explain. */
	inspection(of: EntryInspection<ServiceQuery, Instances, ServiceSnapshot>): Inspection {
		const { query, value = [], ...rest } = of;
		const refused = this.#refused.get(query);
		const changes = this.#changes.get(query);
		const facts = value.map((one): readonly [string, InstanceFacts] => {
			return [one.instance, { changedAt: changes?.changedAt(one.instance) ?? null, checks: checksOf(one) }];
		});
		return {
			...rest,
			instances: new Map(facts),
			...(refused !== undefined && { refused: refused.instances, refusedCount: refused.count }),
		};
	}

	/** Reports invalid entries once, and not with each answer that has them. */
	#noteRefused(query: ServiceQuery, refused: Refused): void {
		const before = this.#refused.get(query);
		if (before === undefined ? refused.count === 0 : isSameRefused(before, refused)) return;
		if (refused.count === 0) this.#refused.delete(query);
		else this.#refused.set(query, refused);
		const { count, instances } = refused;
		const known = new Set(before?.instances.map(({ instance }) => instance));
		const added = before === undefined ? count : instances.filter(({ instance }) => !known.has(instance)).length;
		this.#options.onEvent({ type: 'instances-refused', query, count, added, instances });
	}
}

/** A watched service, for status. */
export function serviceWatchStatus(query: ServiceQuery, status: EntryStatus<Instances>): WatchStatus {
	const { value: instances = [], ...rest } = status;
	return { ...query, ...rest, instances: instances.length, healthyInstances: countHealthy(instances) };
}

/** When each instance of one query last changed, as this process saw it; never more entries than instances. */
class InstanceChanges {
	/** When most of them were first seen, so that only later changes take memory. */
	#firstMs: number | undefined;
	readonly #laterMs = new Map<string, number>();

	/** Notes what changed, in milliseconds since 1970. */
	note({ added, removed, changed }: SnapshotDiff, atMs: number): void {
		for (const name of removed) this.#laterMs.delete(name);
		const isFirst = this.#firstMs === undefined;
		this.#firstMs ??= atMs;
		if (isFirst) return;
		for (const name of added) this.#laterMs.set(name, atMs);
		for (const name of changed) this.#laterMs.set(name, atMs);
	}

	/** In milliseconds since 1970; null before the first answer. */
	changedAt(instance: string): number | null {
		return this.#laterMs.get(instance) ?? this.#firstMs ?? null;
	}
}

/** True if less than this share of the instances is healthy; false for a share of 0, or without instances. */
function isPanic(instances: readonly ServiceInstance[], threshold: number): boolean {
	return threshold > 0 && instances.length > 0 && countHealthy(instances) / instances.length < threshold;
}

/** How many instances may be sent work. */
function countHealthy(instances: readonly ServiceInstance[]): number {
	return instances.filter(isServing).length;
}

/**
 * The current instances of a query: from the backend's `read`, or from the first answer of a watch. Rejects as that does; never
 * settles if the signal aborts before the first answer of a watch.
 */
async function readOnce(
	backend: Backend,
	query: ServiceQuery,
	signal: AbortSignal,
): Promise<readonly ServiceInstance[]> {
	if (backend.read !== undefined) return goodInstances(await backend.read(query, { signal }));
	const done = new AbortController();
	const ended = AbortSignal.any([signal, done.signal]);
	return new Promise<readonly ServiceInstance[]>((resolve, reject) => {
		const observer = whileGood(backend.name, { answered: (instances) => resolve(instances), failed: reject });
		const watch = backend.watch(query, observer);
		ended.addEventListener('abort', () => watch.stop(), { once: true });
		if (ended.aborted) watch.stop();
	}).finally(() => done.abort());
}
