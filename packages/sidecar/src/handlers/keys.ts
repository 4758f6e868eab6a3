import type { ServiceSource } from '@spock/protocol';

import { answer, type Handler } from '../connection/answer.ts';
import { snapshotPayload } from '../connection/snapshot-text.ts';
import { callOptions, keysOf } from '../foundation/sidecar-source.ts';

/** The value of a key, or all keys that begin with it. A key that does not exist has the value null. */
export function getKeyHandler(source: ServiceSource): Handler<'getKey'> {
	return (data, call) => {
		const keys = keysOf(source);
		const { maxAgeMs } = data;
		const known = maxAgeMs === undefined ? keys.peek(data) : undefined;
		if (known !== undefined) return snapshotPayload(known);
		return keys.get(data, { ...callOptions(call, call.caller.id), maxAgeMs }).then(snapshotPayload);
	};
}

/** What a key, or a prefix, says now; its changes are pushed from now on. */
export const watchKeyHandler: Handler<'watchKey'> = (data, call) => call.caller.subscribeKey(data, call);

/** No more pushes of this key or prefix. */
export const unwatchKeyHandler: Handler<'unwatchKey'> = (data, { caller }) => {
	caller.unsubscribeKey(data);
	return answer(null);
};
