import { diffInstances } from '@spock/discovery';
import { encodePayload, encodePush, type ServiceInstance, type ServiceSnapshot } from '@spock/protocol';

import type { PushForm } from '../foundation/observer.ts';

/** A push, ready to be written to any number of connections. */
export interface SnapshotPush {
	readonly form: PushForm;
	/** One, unless it is in parts. */
	readonly lines: readonly string[];
	/** Of all lines together. */
	readonly bytes: number;
}

type Instances = readonly ServiceInstance[];

/** The push, and the revision that it builds on. */
interface MadeDelta {
	readonly base: number;
	readonly push: SnapshotPush;
}

// Serialised once for all connections that have the same base: by the snapshot, then by the instances that it builds on. Both are
// weak: a client that reads slowly must not keep old instances for the others.
const deltas = new WeakMap<ServiceSnapshot, WeakMap<Instances, MadeDelta>>();
/** Whether a list is sorted by names that are not empty, none of them twice. */
const sorted = new WeakMap<Instances, boolean>();

/**
 * The push that makes a snapshot of this base. Undefined where its meaning would not be exactly that of the whole: a client finds the
 * place of an instance by its name, which a source of any kind may have left unsorted, given twice, or empty.
 */
export function deltaPush(snapshot: ServiceSnapshot, base: ServiceSnapshot): SnapshotPush | undefined {
	const { instances } = snapshot;
	let made = deltas.get(snapshot);
	if (made === undefined) {
		if (!isSorted(instances)) return undefined;
		made = new WeakMap();
		deltas.set(snapshot, made);
	}
	const known = made.get(base.instances);
	if (known?.base === base.revision) return known.push;
	if (!isSorted(base.instances)) return undefined;
	const push = encodeDelta(snapshot, base);
	made.set(base.instances, { base: base.revision, push });
	return push;
}

function encodeDelta(
	{ instances, ...state }: ServiceSnapshot,
	{ revision: base, instances: before }: ServiceSnapshot,
): SnapshotPush {
	const { added, changed: different, removed: gone } = diffInstances(before, instances);
	const names = new Set([...added, ...different]);
	const changed = names.size === 0 ? [] : instances.filter(({ instance }) => names.has(instance));
	const line = encodePush('service', encodePayload({ ...state, base, changed, gone }));
	return { form: 'delta', lines: [line], bytes: Buffer.byteLength(line) };
}

function isSorted(instances: Instances): boolean {
	let is = sorted.get(instances);
	if (is === undefined) {
		let before = '';
		is = instances.every(({ instance }) => {
			const isBehind = typeof instance === 'string' && before < instance;
			before = instance;
			return isBehind;
		});
		sorted.set(instances, is);
	}
	return is;
}
