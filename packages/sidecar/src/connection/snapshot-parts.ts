import {
	encodePayload,
	encodePush,
	type PayloadText,
	type ServiceInstance,
	type ServiceList,
	type ServiceListEntry,
	type ServiceSnapshot,
	SNAPSHOT_BYTES_MAX,
} from '@spock/protocol';

import type { SnapshotPush } from './snapshot-delta.ts';

/** By how much a frame is longer than what is listed in it, or than the state that goes with the list, at most. */
const HEAD_BYTES = 128;

/** A snapshot in parts. */
export interface SnapshotParts {
	/** The parts, which go before the reply or the push. */
	readonly lines: readonly string[];
	/** The payload of that. */
	readonly last: PayloadText;
	/** All of it, as a push. */
	readonly push: SnapshotPush;
}

/** A list as parts. */
interface SplitList {
	readonly of: number;
	readonly lines: readonly string[];
	readonly bytes: number;
}

type List = readonly ServiceInstance[] | readonly ServiceListEntry[];

/** For frames of a length. */
interface Made<T> {
	readonly frameBytesMax: number;
	/** Undefined: it cannot be done. */
	readonly value: T | undefined;
}

// For the length that was needed last: nearly all clients have the same frames. The instances by themselves, because each read of
// a stale snapshot is a new one with the same list.
const made = new WeakMap<ServiceSnapshot, Made<SnapshotParts>>();
const split = new WeakMap<List, Made<SplitList>>();
let listCount = 0;

/** Splits a snapshot for frames of this length. Undefined if one of its instances does not fit, or all together are too long. */
export function partsOf(snapshot: ServiceSnapshot, frameBytesMax: number): SnapshotParts | undefined {
	return remembered(made, snapshot, frameBytesMax, () => {
		const { instances, ...state } = snapshot;
		const parts = remembered(split, instances, frameBytesMax, () => splitList('instances', instances, frameBytesMax));
		if (parts === undefined) return undefined;
		const { of, lines } = parts;
		const last = encodePayload({ ...state, parts: { of, count: lines.length } });
		if (Buffer.byteLength(last) > frameBytesMax - HEAD_BYTES) return undefined;
		const line = encodePush('service', last);
		const bytes = parts.bytes + Buffer.byteLength(line);
		return { lines, last, push: { form: 'parts', lines: [...lines, line], bytes } };
	});
}

/** The answer to listServices for frames of this length. Undefined as for a snapshot. */
export function listPartsOf(
	{ services, ...state }: ServiceList,
	frameBytesMax: number,
): Pick<SnapshotParts, 'lines' | 'last'> | undefined {
	const parts = remembered(split, services, frameBytesMax, () => splitList('services', services, frameBytesMax));
	if (parts === undefined) return undefined;
	return { lines: parts.lines, last: encodePayload({ ...state, parts: { of: parts.of, count: parts.lines.length } }) };
}

function remembered<K extends WeakKey, T>(
	memory: WeakMap<K, Made<T>>,
	key: K,
	frameBytesMax: number,
	make: () => T | undefined,
): T | undefined {
	const known = memory.get(key);
	if (known?.frameBytesMax === frameBytesMax) return known.value;
	const value = make();
	memory.set(key, { frameBytesMax, value });
	return value;
}

function splitList(name: 'instances' | 'services', list: List, frameBytesMax: number): SplitList | undefined {
	const roomBytes = frameBytesMax - HEAD_BYTES;
	const of = ++listCount;
	const lines: string[] = [];
	let texts: string[] = [];
	let textBytes = 0;
	let bytes = 0;
	const end = (): void => {
		const line = encodePush('part', `{"of":${of},"index":${lines.length},"${name}":[${texts.join(',')}]}`);
		lines.push(line);
		bytes += Buffer.byteLength(line);
		texts = [];
		textBytes = 0;
	};
	for (const entry of list) {
		const text = encodePayload(entry);
		const length = Buffer.byteLength(text) + 1;
		if (length > roomBytes) return undefined;
		if (textBytes + length > roomBytes) end();
		if (bytes + textBytes + length > SNAPSHOT_BYTES_MAX) return undefined;
		texts.push(text);
		textBytes += length;
	}
	if (texts.length > 0) end();
	return bytes > SNAPSHOT_BYTES_MAX ? undefined : { of, lines, bytes };
}
