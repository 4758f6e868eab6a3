import type { ErrorCode } from '@spock/protocol';

import type { SimClient } from './sim-client.ts';

/** What waiting or trying again may mend: any call may be told so while something is broken. */
const MENDABLE: ReadonlySet<ErrorCode> = new Set(['TIMEOUT', 'DISCONNECTED', 'OVERLOADED', 'UNAVAILABLE', 'NOT_READY']);

/** Whether a call may end so in this world. */
export function mayFail(client: SimClient, code: ErrorCode, isAborted: () => boolean = () => false): boolean {
	if (MENDABLE.has(code)) return true;
	if (code === 'CLOSED') return client.isEnding;
	if (code === 'ABORTED') return isAborted();
	return code === 'ACL_DENIED' && client.world.registry.modesSeen.has('denies');
}
