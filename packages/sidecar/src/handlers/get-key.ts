import type { ServiceSource } from '@spock/protocol';

import type { Handler } from '../server/answer.ts';
import { keysOf } from '../server/keys-of.ts';
import { snapshotPayload } from '../server/snapshot-text.ts';

/** The value of a key, or all keys that begin with it. A key that does not exist has the value null. */
export function getKeyHandler(source: ServiceSource): Handler<'getKey'> {
	return (data, { signal, timeoutMs }) => {
		const keys = keysOf(source);
		const known = keys.peek(data);
		if (known !== undefined) return snapshotPayload(known);
		return keys.get(data, { signal, ...(timeoutMs !== undefined && { timeoutMs }) }).then(snapshotPayload);
	};
}
