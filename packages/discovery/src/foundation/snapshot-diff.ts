import type { ServiceInstance } from '@spock/protocol';

import { isSameChecks, isSameRefused, refusedOf } from './instance-notes.ts';

/** What changed between two lists of instances, by instance name. */
export interface SnapshotDiff {
	readonly added: readonly string[];
	readonly removed: readonly string[];
	readonly changed: readonly string[];
}

/** Compares two lists, each sorted by `instance`. Empty lists in the result: nothing that a reader could see has changed. */
export function diffInstances(before: readonly ServiceInstance[], after: readonly ServiceInstance[]): SnapshotDiff {
	const added: string[] = [];
	const removed: string[] = [];
	const changed: string[] = [];
	let left = 0;
	let right = 0;
	while (left < before.length || right < after.length) {
		const old = before[left];
		const fresh = after[right];
		if (old === undefined || (fresh !== undefined && fresh.instance < old.instance)) {
			added.push((fresh as ServiceInstance).instance);
			right++;
		} else if (fresh === undefined || old.instance < fresh.instance) {
			removed.push(old.instance);
			left++;
		} else {
			if (!isSameInstance(old, fresh)) changed.push(fresh.instance);
			left++;
			right++;
		}
	}
	return { added, removed, changed };
}

/** True if two lists, each sorted by `instance`, are the same to a reader of snapshots. */
export function isSameList(before: readonly ServiceInstance[], after: readonly ServiceInstance[]): boolean {
	if (before === after) return true;
	if (before.length !== after.length) return false;
	return before.every((instance, index) => isSameInstance(instance, after[index] as ServiceInstance));
}

/** As `isSameList`, and their checks and the invalid entries are equal too, which explain shows. A backend compares answers by this. */
export function isSameAnswer(before: readonly ServiceInstance[], after: readonly ServiceInstance[]): boolean {
	return (
		isSameList(before, after) &&
		isSameRefused(refusedOf(before), refusedOf(after)) &&
		before.every((one, index) => isSameChecks(one, after[index] as ServiceInstance))
	);
}

/** Sorts by `instance` in the order of UTF-16 units, which every process agrees on, and freezes the list. */
export function sortInstances(instances: ServiceInstance[]): readonly ServiceInstance[] {
	instances.sort((left, right) => (left.instance < right.instance ? -1 : left.instance > right.instance ? 1 : 0));
	return Object.freeze(instances);
}

function isSameInstance(left: ServiceInstance, right: ServiceInstance): boolean {
	if (left === right) return true;
	return (
		left.instance === right.instance &&
		left.host === right.host &&
		left.port === right.port &&
		left.weight === right.weight &&
		left.status === right.status &&
		left.zone === right.zone &&
		left.datacenter === right.datacenter &&
		isSameTags(left.tags, right.tags) &&
		isSameMeta(left.meta, right.meta)
	);
}

function isSameTags(left: readonly string[], right: readonly string[]): boolean {
	return left.length === right.length && left.every((tag, index) => tag === right[index]);
}

function isSameMeta(left: Readonly<Record<string, string>>, right: Readonly<Record<string, string>>): boolean {
	const names = Object.keys(left);
	return names.length === Object.keys(right).length && names.every((name) => left[name] === right[name]);
}
