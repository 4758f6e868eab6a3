import {
	encodePayload,
	encodePush,
	frameTooLargeError,
	type KeySnapshot,
	type PayloadText,
	type ServiceList,
	type ServiceSnapshot,
	SpockError,
} from '@spock/protocol';

import { type Answer, answer, PartedAnswer } from './answer.ts';
import { deltaPush, type SnapshotPush } from './snapshot-delta.ts';
import { listPartsOf, partsOf, type SnapshotParts } from './snapshot-parts.ts';

type AnySnapshot = ServiceSnapshot | KeySnapshot;

/** How much a snapshot may grow when it is marked as oversize: it must fit into a frame then as well. */
const MARK_BYTES = 128;
/** No instance is shorter than this in JSON. */
const INSTANCE_BYTES_MIN = 100;

/** What a client reads. */
export interface SnapshotReading {
	readonly frameBytesMax: number;
	/** Whether it knows these features. */
	readonly deltas: boolean;
	readonly parts: boolean;
	readonly lists: boolean;
}

// A live snapshot is one frozen object until something changes, so its bytes are made once for all callers. A stale one has
// another age at each read; then the cache saves only the second serialisation, of the check and the send.
const payloads = new WeakMap<AnySnapshot, PayloadText>();
const pushes = new WeakMap<AnySnapshot, SnapshotPush>();

/** The payload of a snapshot. */
export function snapshotPayload<S extends AnySnapshot>(snapshot: S): Answer<S> {
	let payload = payloads.get(snapshot);
	if (payload === undefined) {
		payload = encodePayload(snapshot);
		payloads.set(snapshot, payload);
	}
	return payload as Answer<S>;
}

/**
 * The push of a snapshot in the shortest form that its client reads; `base` is the one that it has. FRAME_TOO_LARGE if no form fits
 * into its frames.
 */
export function snapshotPush(
	event: 'service' | 'key',
	snapshot: AnySnapshot,
	reading: SnapshotReading,
	base?: AnySnapshot,
): SnapshotPush | SpockError {
	// What its client could not have whole, or in parts, is too long for it, even where a delta would fit.
	if (!reading.parts && !fits(wholePush(event, snapshot), snapshot, reading)) return tooLong(event, snapshot, reading);
	if (base !== undefined && 'instances' in base && 'instances' in snapshot && reading.deltas) {
		const delta = deltaPush(snapshot, base);
		if (delta !== undefined && fits(delta, snapshot, reading) && isShorter(delta, snapshot)) return delta;
	}
	// A whole that cannot fit is not serialised.
	if (!isLongerThan(snapshot, reading.frameBytesMax)) {
		const whole = wholePush(event, snapshot);
		if (fits(whole, snapshot, reading)) return whole;
	}
	return (reading.parts && inParts(snapshot, reading)?.push) || tooLong(event, snapshot, reading);
}

/** Why a snapshot cannot be sent to a client in one piece or in parts: FRAME_TOO_LARGE; undefined if it can. */
export function snapshotRefusal(
	event: 'service' | 'key',
	snapshot: AnySnapshot,
	reading: SnapshotReading,
): SpockError | undefined {
	const push = snapshotPush(event, snapshot, reading);
	return push instanceof SpockError ? push : undefined;
}

/** The reply with a snapshot, in parts if it must be so and its client reads them. */
export function snapshotAnswer(
	snapshot: ServiceSnapshot,
	reading: SnapshotReading,
): Answer<ServiceSnapshot> | PartedAnswer {
	const isWhole =
		!reading.parts ||
		(!isLongerThan(snapshot, reading.frameBytesMax) && fits(wholePush('service', snapshot), snapshot, reading));
	const parted = isWhole ? undefined : inParts(snapshot, reading);
	return parted === undefined ? snapshotPayload(snapshot) : new PartedAnswer(parted.lines, parted.last);
}

/** The reply with all services, in parts if it must be so and its client reads them. */
export function listAnswer(
	list: ServiceList,
	{ lists, frameBytesMax }: SnapshotReading,
): Answer<ServiceList> | PartedAnswer {
	const whole = answer(list);
	if (!lists || Buffer.byteLength(whole) <= frameBytesMax - MARK_BYTES) return whole;
	const parted = listPartsOf(list, frameBytesMax);
	return parted === undefined ? whole : new PartedAnswer(parted.lines, parted.last);
}

/** The payload of an answer about keys, which may have to be waited for. */
export function keyPayloadOf(
	found: KeySnapshot | Promise<KeySnapshot>,
): Answer<KeySnapshot> | Promise<Answer<KeySnapshot>> {
	return found instanceof Promise ? found.then(snapshotPayload) : snapshotPayload(found);
}

/** The longest frame with this snapshot in one piece, in bytes. */
export function snapshotFrameBytes(event: 'service' | 'key', snapshot: AnySnapshot): number {
	return wholePush(event, snapshot).bytes - 1 + MARK_BYTES;
}

function wholePush(event: 'service' | 'key', snapshot: AnySnapshot): SnapshotPush {
	let push = pushes.get(snapshot);
	if (push === undefined) {
		const line = encodePush(event, snapshotPayload(snapshot));
		push = { form: 'whole', lines: [line], bytes: Buffer.byteLength(line) };
		pushes.set(snapshot, push);
	}
	return push;
}

/** The frame of a push is longer than that of any reply with the same payload. LF does not count. */
function fits({ bytes }: SnapshotPush, { oversize }: AnySnapshot, { frameBytesMax }: SnapshotReading): boolean {
	return bytes - 1 <= (oversize === true ? frameBytesMax : frameBytesMax - MARK_BYTES);
}

/** True if it is longer than a frame for certain. */
function isLongerThan(snapshot: AnySnapshot, frameBytesMax: number): boolean {
	return 'instances' in snapshot && snapshot.instances.length * INSTANCE_BYTES_MIN > frameBytesMax;
}

/** Most deltas are shorter for certain: then the whole is not serialised. */
function isShorter({ bytes }: SnapshotPush, snapshot: ServiceSnapshot): boolean {
	return bytes <= snapshot.instances.length * INSTANCE_BYTES_MIN || bytes < wholePush('service', snapshot).bytes;
}

function inParts(snapshot: AnySnapshot, { frameBytesMax }: SnapshotReading): SnapshotParts | undefined {
	return 'instances' in snapshot ? partsOf(snapshot, frameBytesMax) : undefined;
}

function tooLong(event: 'service' | 'key', snapshot: AnySnapshot, { frameBytesMax }: SnapshotReading): SpockError {
	return frameTooLargeError('a snapshot', snapshotFrameBytes(event, snapshot), frameBytesMax);
}
