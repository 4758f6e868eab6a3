import type { Logger } from 'pino';

import type { SidecarMetrics } from '../../admin/metrics/sidecar-metrics.ts';
import type { SidecarListen } from '../../lifecycle/sidecar-options.ts';
import type { TakeOverEvent, TakeOverOptions } from '../../take-over/take-over.ts';
import { plainTarget, tokenOf } from '../client/sidecar-target.ts';
import { logTakeOver } from '../log/event-log.ts';
import { integerOf, type Settings, textOf } from '../settings/setting-values.ts';
import { findPredecessor } from './find-predecessor.ts';

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
