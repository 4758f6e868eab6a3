import { SpockError } from '@spock/protocol';

import type { Connection } from '../connection/connection.ts';

/** UNKNOWN_FUNC: whoever wants to be told of changes is not served by a baseline sidecar. */
export function noPushesError(): SpockError {
	return new SpockError('UNKNOWN_FUNC', 'this sidecar is a baseline one: it cannot tell of changes');
}

/** TIMEOUT: no snapshot came, and why, as far as the connection knows. */
export function noSnapshotError(
	noun: 'service' | 'key',
	name: string,
	timeoutMs: number,
	connection: Pick<Connection, 'state' | 'whyNotReady'>,
): SpockError {
	const why = connection.state === 'ready' ? '' : `, because ${connection.whyNotReady()}`;
	const message = `no snapshot of ${JSON.stringify(name)} came within ${timeoutMs} ms${why}`;
	return new SpockError('TIMEOUT', message, { details: { [noun]: name, timeoutMs } });
}
