import type { Logger } from 'pino';

import type { SidecarMetrics } from '../../admin/metrics/sidecar-metrics.ts';
import type { SidecarListen } from '../../listen/listener.ts';
import type { TakeOverEvent, TakeOverOptions } from '../../take-over/take-over.ts';
import { logTakeOver } from '../log/connection-log.ts';
import type { Settings } from '../settings/settings.ts';

/** How to replace the sidecar at this address; undefined where that is not asked for. Throws an Error where it cannot be. */
export function takeOverOptionsOf(
	settings: Settings,
	{ address }: SidecarListen,
	log: Logger,
	metrics: SidecarMetrics,
): TakeOverOptions | undefined {
	if (!settings.takeOver.value) return undefined;
	if (!('path' in address)) throw new Error('no socket path to take over: --take-over needs --socket');
	const told = (event: TakeOverEvent): void => {
		logTakeOver(log, event);
		metrics.tookOver(event);
	};
	return { warmUpMs: settings.takeOverWarmUpMs.value, told };
}
