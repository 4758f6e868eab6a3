import type { AskedBy, CallOptions } from '@spock/protocol';

import type { Call } from './answer.ts';

/**
 * A caller that waits as long as we do would never hear why there is no answer: this part of its time is for the way back. On a
 * node with more work than cores a process may stand still for some 100 ms.
 */
const WAY_BACK_SHARE = 0.1;
const WAY_BACK_MS_MAX = 500;

/** How a source waits for the sake of a request. */
export function callOptions(call: Pick<Call, 'signal' | 'timeoutMs'>, asker: AskedBy['asker']): CallOptions & AskedBy {
	const { signal, timeoutMs } = call;
	if (timeoutMs === undefined) return { signal, asker };
	return {
		signal,
		asker,
		timeoutMs: Math.max(1, Math.ceil(timeoutMs - Math.min(WAY_BACK_MS_MAX, timeoutMs * WAY_BACK_SHARE))),
	};
}
