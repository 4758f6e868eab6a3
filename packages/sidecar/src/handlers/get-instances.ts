import type { ServiceSource } from '@spock/protocol';

import type { Handler } from '../server/answer.ts';
import { snapshotPayload } from '../server/snapshot-text.ts';

/** The whole snapshot of a service, unhealthy instances too. */
export function getInstancesHandler(source: ServiceSource): Handler<'getInstances'> {
	return (data, call) => {
		const known = source.peek(data);
		if (known !== undefined) return snapshotPayload(known);
		const { signal, timeoutMs } = call;
		return source.get(data, { signal, ...(timeoutMs !== undefined && { timeoutMs }) }).then(snapshotPayload);
	};
}
