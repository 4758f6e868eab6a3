import { type Inspection, queryKey, type ServiceInstance, type ServiceQuery, type WatchStatus } from '@spock/protocol';
import { queryLabel } from '@spock/protocol/internal';

import { type CommonFailure, ownError } from '../foundation/common-failure.ts';
import { serviceProblem } from '../foundation/service-problem.ts';
import type { ServiceView } from './status-view.ts';

/** One service and its JSON. The text is the same object for as long as it says the same. */
export interface ServiceRow {
	readonly view: ServiceView;
	readonly text: string;
}

interface KnownRow extends ServiceRow {
	/** What the row was made from. */
	readonly watch: WatchStatus;
}

/** Addresses, tags and zones of one service that can be searched for, so that a row stays short. */
const FOUND_MAX = 100;
/** A clock that jumps, or a rounding, is no news. */
const STALE_SINCE_SLACK_MS = 1000;

/** The services that are watched. A row is made again only when it says something else. */
export class ServiceRows {
	readonly #known: (query: ServiceQuery) => Inspection | undefined;
	#rows: ReadonlyMap<string, KnownRow> = new Map();

	constructor(known: (query: ServiceQuery) => Inspection | undefined) {
		this.#known = known;
	}

	/** By key, in the order of names. */
	get rows(): ReadonlyMap<string, ServiceRow> {
		return this.#rows;
	}

	/** Takes what is watched now, at a moment in milliseconds since 1970, and what fails for many of them at once. */
	sample(watches: readonly WatchStatus[], at: number, failure: CommonFailure | null): void {
		const keyed = watches.map((watch) => [queryKey(watch), watch] as const);
		keyed.sort(([, left], [, right]) => compareText(left.service, right.service));
		this.#rows = new Map(keyed.map(([key, watch]) => [key, this.#row(key, watch, at, failure)]));
	}

	#row(key: string, watch: WatchStatus, at: number, failure: CommonFailure | null): KnownRow {
		const before = this.#rows.get(key);
		const staleSince = staleSinceOf(watch, before?.view.staleSince ?? null, at);
		const { ageMs: _ageMs, healthyInstances: healthy, ...rest } = watch;
		const isNews = before === undefined || before.watch.revision !== watch.revision;
		const { changedAt, found } = isNews ? knownOf(this.#known(watch)) : before.view;
		const error = ownError(watch.error, failure);
		const hasWarning = found.statuses.includes('warning');
		const isOutage = failure !== null && failure.registries.length > 0;
		const problem = serviceProblem({
			...{ state: watch.state, instances: watch.instances, healthy },
			hasWarning,
			isOutage,
			error: watch.error,
		});
		if (before !== undefined && isSame(before.watch, watch)) {
			const { view } = before;
			if (view.staleSince === staleSince && view.error === error && view.problem === problem) return before;
		}
		const label = queryLabel(watch);
		const view: ServiceView = { key, label, ...rest, error, problem, healthy, changedAt, staleSince, found };
		return { view, text: JSON.stringify(view), watch };
	}
}

function knownOf(inspection: Inspection | undefined): Pick<ServiceView, 'changedAt' | 'found'> {
	const instances = inspection?.snapshot?.instances ?? [];
	const each = <T>(read: (instance: ServiceInstance) => readonly T[]): T[] =>
		[...new Set(instances.flatMap(read))].slice(0, FOUND_MAX);
	return {
		changedAt: inspection?.changedAt ?? null,
		found: {
			addresses: each(({ host, port }) => [host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`]),
			tags: each(({ tags }) => tags),
			zones: each(({ zone }) => (zone === null ? [] : [zone])),
			statuses: each(({ status }) => [status]),
		},
	};
}

function isSame(before: WatchStatus, after: WatchStatus): boolean {
	return (
		before.state === after.state &&
		before.revision === after.revision &&
		before.readers === after.readers &&
		before.error === after.error
	);
}

function staleSinceOf({ state, ageMs }: WatchStatus, before: number | null, at: number): number | null {
	if (state !== 'stale' && state !== 'held') return null;
	const since = Math.round(at - ageMs);
	return before !== null && Math.abs(since - before) < STALE_SINCE_SLACK_MS ? before : since;
}

function compareText(left: string, right: string): number {
	return left < right ? -1 : left > right ? 1 : 0;
}
