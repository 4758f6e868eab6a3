import { SpockError } from '@spock/protocol';
import type { Logger } from 'pino';

import type { SidecarMetrics } from '../../admin/metrics/sidecar-metrics.ts';
import type { SidecarListen } from '../../listen/listener.ts';
import type { Predecessor, TakeOverEvent, TakeOverOptions } from '../../take-over/take-over.ts';
import { plainTarget, type SidecarTarget, tokenOf } from '../client/sidecar-target.ts';
import { WireClient } from '../client/wire-client.ts';
import { logTakeOver } from '../log/connection-log.ts';
import { integerOf, type Settings, textOf } from '../settings/setting.ts';

export const DEFAULT_WARM_UP_MS = 30_000;

/** How to replace the sidecar at this address; undefined where that is not asked for. Throws an Error where it cannot be. */
export function takeOverOptionsOf(
	settings: Settings,
	{ address, privateDirectory }: SidecarListen,
	log: Logger,
	metrics: SidecarMetrics,
): TakeOverOptions | undefined {
	if (settings.get('takeOver')?.value !== true) return undefined;
	if (!('path' in address)) throw new Error('there is no path to take over: --take-over needs --socket');
	const [file, token] = [textOf(settings, 'tokenFile'), textOf(settings, 'token')];
	const find: TakeOverOptions['find'] = (at, timeoutMs) =>
		findPredecessor(
			plainTarget('path' in at && privateDirectory ? { ...at, isPrivate: true } : at, tokenOf(file, token)),
			timeoutMs,
		);
	const warmUpMs = integerOf(settings, 'takeOverWarmUpMs') ?? DEFAULT_WARM_UP_MS;
	const told = (event: TakeOverEvent): void => {
		logTakeOver(log, event);
		metrics.tookOver(event);
	};
	return { find, warmUpMs, told };
}

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
