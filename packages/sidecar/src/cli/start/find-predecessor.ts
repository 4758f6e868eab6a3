import { SpockError } from '@spock/protocol';

import type { Predecessor } from '../../take-over/take-over.ts';
import type { SidecarTarget } from '../client/sidecar-target.ts';
import { WireClient } from '../client/wire-client.ts';

/** The sidecar that listens at a path; undefined if nobody does. Rejects when it cannot be told. */
export async function findPredecessor(target: SidecarTarget, timeoutMs: number): Promise<Predecessor | undefined> {
	let client: WireClient;
	try {
		client = await WireClient.open(target, timeoutMs);
	} catch (error) {
		const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
		if (code === 'ENOENT' || code === 'ECONNREFUSED') return undefined;
		throw error;
	}
	let isClosed = false;
	void client.closed.then(() => {
		isClosed = true;
	});
	return {
		// A command that has waited in vain ends with a message; here it is a fact to go on with.
		request: (func, data, waitMs) =>
			client.request(func, data, waitMs).catch((error: Error) => {
				throw SpockError.is(error.cause, 'TIMEOUT') ? error.cause : error;
			}),
		isClosed: () => isClosed,
		close: () => client.close(),
	};
}
