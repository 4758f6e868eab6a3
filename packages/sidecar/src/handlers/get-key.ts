import type { ServiceSource } from '@spock/protocol';

import type { Handler } from '../connection/answer.ts';
import { callOptions } from '../connection/call-options.ts';
import { keysOf } from '../connection/keys-of.ts';
import { snapshotPayload } from '../connection/snapshot-text.ts';

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
