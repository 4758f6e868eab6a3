import {
	encodePayload,
	encodePush,
	fitsFrame,
	frameTooLargeError,
	type KeySnapshot,
	type PayloadText,
	type ServiceSnapshot,
	type SpockError,
} from '@spock/protocol';

import type { Answer } from './answer.ts';

type AnySnapshot = ServiceSnapshot | KeySnapshot;

/** How much a snapshot may grow when it is marked as oversize: it must fit into a frame then as well. */
const MARK_BYTES = 128;

// A live snapshot is one frozen object until something changes, so its bytes are made once for all callers. A stale one has
// another age at each read; then the cache saves only the second serialisation, of the check and the send.
const payloads = new WeakMap<AnySnapshot, PayloadText>();
const pushes = new WeakMap<AnySnapshot, string>();

/** The payload of a snapshot. */
export function snapshotPayload<S extends AnySnapshot>(snapshot: S): Answer<S> {
	let payload = payloads.get(snapshot);
	if (payload === undefined) {
		payload = encodePayload(snapshot);
		payloads.set(snapshot, payload);
	}
	return payload as Answer<S>;
}

/** The push line of a snapshot. */
export function snapshotPush(event: 'service' | 'key', snapshot: AnySnapshot): string {
	let line = pushes.get(snapshot);
	if (line === undefined) {
		line = encodePush(event, snapshotPayload(snapshot));
		pushes.set(snapshot, line);
	}
	return line;
}

/** Why a snapshot cannot be sent to a client with frames of this length: FRAME_TOO_LARGE; undefined if it can. */
export function snapshotRefusal(
	event: 'service' | 'key',
	snapshot: AnySnapshot,
	frameBytesMax: number,
): SpockError | undefined {
	// The frame of a push is longer than that of any reply with the same payload.
	const line = snapshotPush(event, snapshot);
	if (fitsFrame(line, frameBytesMax - MARK_BYTES)) return undefined;
	return frameTooLargeError('a snapshot', snapshotFrameBytes(event, snapshot), frameBytesMax);
}

/** The longest frame with this snapshot, in bytes. */
export function snapshotFrameBytes(event: 'service' | 'key', snapshot: AnySnapshot): number {
	return Buffer.byteLength(snapshotPush(event, snapshot)) + MARK_BYTES;
}

/** The same, of an answer that may have to be waited for. */
export function payloadOf<S extends ServiceSnapshot | KeySnapshot>(
	found: S | Promise<S>,
): Answer<S> | Promise<Answer<S>> {
	return found instanceof Promise ? found.then(snapshotPayload) : snapshotPayload(found);
}
