import type { DiscoveryEvent } from '@spock/discovery';
import { queryKey, type ServiceInstance, type ServiceSnapshot } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { ChangeView, InstanceChange, SourceChange } from './status-view.ts';

/** How many changes are kept. */
export const CHANGES_MAX = 200;
/** How many instances of one change are named. */
const INSTANCES_MAX = 20;
/** How many services of one change of source are named. */
const SERVICES_MAX = 10;
/** Changes of source that follow each other within this many milliseconds are one: an outage is of all services at once. */
const OUTAGE_MS = 10_000;
/** Tags and the like are cut to so many characters. */
const TEXT_MAX = 200;

type Published = Extract<DiscoveryEvent, { type: 'published' }>;

/** The last published changes, newest last. */
export class ChangeLog {
	readonly #clock: Pick<Clock, 'wallNow'>;
	#changes: readonly ChangeView[] = [];
	#sequence = 0;

	constructor(clock: Pick<Clock, 'wallNow'>) {
		this.#clock = clock;
	}

	/** The oldest first; another list after each change. */
	get changes(): readonly ChangeView[] {
		return this.#changes;
	}

	/** Notes what is a change of a service, and no other event. */
	discovered(event: DiscoveryEvent): void {
		if (event.type !== 'published') return;
		const { added, removed, changed } = event.diff;
		const { before } = event;
		// The first answer is what there was: nothing has changed.
		if (before === undefined) return;
		if (added.length + removed.length + changed.length > 0) this.#addInstances(event, before);
		else if (before.source !== event.snapshot.source) this.#addSource(event, before);
	}

	#addInstances({ snapshot, diff }: Published, before: ServiceSnapshot): void {
		const { service, revision, source } = snapshot;
		const sequence = ++this.#sequence;
		this.#keep({
			kind: 'instances',
			id: sequence,
			sequence,
			at: Math.round(this.#clock.wallNow()),
			source,
			sourceBefore: before.source,
			key: queryKey(snapshot),
			service,
			revision,
			counts: { came: diff.added.length, went: diff.removed.length, changed: diff.changed.length },
			instances: instanceChanges(snapshot, diff, before),
		});
	}

	#addSource({ snapshot }: Published, { source: sourceBefore }: ServiceSnapshot): void {
		const { service, source } = snapshot;
		const at = Math.round(this.#clock.wallNow());
		const sequence = ++this.#sequence;
		const last = this.#changes.at(-1);
		if (last !== undefined && isSameOutage(last, { at, source, sourceBefore })) {
			const services = last.services.length < SERVICES_MAX ? [...last.services, service] : last.services;
			this.#keep({ ...last, sequence, count: last.count + 1, services }, 1);
		} else {
			this.#keep({ kind: 'source', id: sequence, sequence, at, source, sourceBefore, count: 1, services: [service] });
		}
	}

	/** Adds a change in the place of so many of the newest. */
	#keep(change: ChangeView, replaced: 0 | 1 = 0): void {
		const before = this.#changes.slice(0, this.#changes.length - replaced);
		this.#changes = [...before.slice(1 - CHANGES_MAX), change];
	}
}

function isSameOutage(
	last: ChangeView,
	{ at, source, sourceBefore }: Pick<ChangeView, 'at' | 'source' | 'sourceBefore'>,
): last is SourceChange {
	if (last.kind !== 'source' || at - last.at > OUTAGE_MS) return false;
	return last.source === source && last.sourceBefore === sourceBefore;
}

function instanceChanges(
	{ instances }: ServiceSnapshot,
	{ added, removed, changed }: Published['diff'],
	before: ServiceSnapshot,
): InstanceChange[] {
	const old = (name: string): ServiceInstance | undefined => before.instances.find((one) => one.instance === name);
	const fresh = (name: string): ServiceInstance | undefined => instances.find((one) => one.instance === name);
	const all = [
		...removed.slice(0, INSTANCES_MAX).map((name) => ['went', old(name), undefined] as const),
		...changed.slice(0, INSTANCES_MAX).map((name) => ['changed', fresh(name), old(name)] as const),
		...added.slice(0, INSTANCES_MAX).map((name) => ['came', fresh(name), undefined] as const),
	];
	return all.slice(0, INSTANCES_MAX).flatMap(([what, one, past]) => {
		if (one === undefined) return [];
		const { instance, status } = one;
		return [{ what, instance, address: addressOf(one), status, fields: past === undefined ? [] : fieldsOf(past, one) }];
	});
}

/** What is different between two states of one instance. Of metadata only the names: a value may be a secret. */
function fieldsOf(before: ServiceInstance, after: ServiceInstance): InstanceChange['fields'] {
	const texts: readonly (readonly [name: string, from: string, to: string])[] = [
		['status', before.status, after.status],
		['weight', String(before.weight), String(after.weight)],
		['address', addressOf(before), addressOf(after)],
		['zone', before.zone ?? '', after.zone ?? ''],
		['datacenter', before.datacenter ?? '', after.datacenter ?? ''],
		['tags', before.tags.join(', '), after.tags.join(', ')],
		['meta', '', differentNames(before.meta, after.meta).join(', ')],
	];
	return texts
		.filter(([, from, to]) => from !== to)
		.map(([name, from, to]) => ({ name, from: from.slice(0, TEXT_MAX), to: to.slice(0, TEXT_MAX) }));
}

function differentNames(before: ServiceInstance['meta'], after: ServiceInstance['meta']): string[] {
	const names = new Set([...Object.keys(before), ...Object.keys(after)]);
	return [...names].filter((name) => before[name] !== after[name]).sort();
}

function addressOf({ host, port }: ServiceInstance): string {
	return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
