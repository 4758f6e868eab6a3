import { encodePayload, encodePush, type PayloadText, type ServiceSnapshot } from '@spock/protocol';

// A live snapshot is one frozen object until something changes, so its bytes are made once for all who ask. A stale one is
// read with another age each time: the memo would never be hit, and is not filled.
const payloads = new WeakMap<ServiceSnapshot, PayloadText>();
const pushes = new WeakMap<ServiceSnapshot, string>();

/** The payload of a snapshot. */
export function snapshotPayload(snapshot: ServiceSnapshot): PayloadText {
	if (snapshot.source === 'last-known-good') return encodePayload(snapshot);
	let payload = payloads.get(snapshot);
	if (payload === undefined) {
		payload = encodePayload(snapshot);
		payloads.set(snapshot, payload);
	}
	return payload;
}

/** The push line of a snapshot. */
export function snapshotPush(snapshot: ServiceSnapshot): string {
	let line = pushes.get(snapshot);
	if (line === undefined) {
		line = encodePush('service', snapshotPayload(snapshot));
		pushes.set(snapshot, line);
	}
	return line;
}
