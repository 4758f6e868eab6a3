import type { ServiceSource } from '@spock/protocol';

import type { Handler } from '../connection/answer.ts';
import { callOptions } from '../connection/call-options.ts';
import { snapshotPayload } from '../connection/snapshot-text.ts';

/** The whole snapshot of a service, unhealthy instances too. */
export function getInstancesHandler(source: ServiceSource): Handler<'getInstances'> {
	return (data, call) => {
		const { maxAgeMs } = data;
		const known = maxAgeMs === undefined ? source.peek(data) : undefined;
		if (known !== undefined) return snapshotPayload(known);
		return source.get(data, { ...callOptions(call, call.caller.id), maxAgeMs }).then(snapshotPayload);
	};
}
