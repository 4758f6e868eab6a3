import { encodePayload, encodePush, type KeySnapshot, type PayloadText, type ServiceSnapshot } from '@spock/protocol';

import type { Answer } from './answer.ts';

type AnySnapshot = ServiceSnapshot | KeySnapshot;

// A live snapshot is one frozen object until something changes, so its bytes are made once for all who ask. A stale one is
// read with another age each time: the memo would never be hit, and is not filled.
const payloads = new WeakMap<AnySnapshot, PayloadText>();
const pushes = new WeakMap<AnySnapshot, string>();

/** The payload of a snapshot. */
export function snapshotPayload<S extends AnySnapshot>(snapshot: S): Answer<S> {
	if (snapshot.source === 'last-known-good') return encodePayload(snapshot) as Answer<S>;
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
