import { systemClock } from '@spock/protocol/internal';

import { Listeners } from './listeners.ts';
import { Supervisor } from './supervisor.ts';
import { SupervisorLog } from './supervisor-log.ts';
import { WaitingSockets } from './waiting-sockets.ts';
import { WorkerProcess } from './worker-process.ts';

export const DEFAULT_STABLE_MS = 5000;
export const DEFAULT_HANG_MS = 30_000;

/** Settings of a supervisor, each with its default. */
export interface SuperviseSettings {
	readonly stableMs?: number | undefined;
	readonly hangMs?: number | undefined;
	readonly standby: boolean;
	readonly logLevel: string;
	readonly isPretty: boolean;
}

/**
 * `sidecar start --supervise`: holds the sockets and keeps a worker behind them. It loads no discovery, no metrics and no
 * logger, so that next to nothing can fail here. Gives the exit code of the worker.
 */
export async function supervise(settings: SuperviseSettings): Promise<number> {
	const { standby, stableMs = DEFAULT_STABLE_MS, hangMs = DEFAULT_HANG_MS, logLevel, isPretty } = settings;
	const log = new SupervisorLog(logLevel, isPretty);
	const sockets = new WaitingSockets(systemClock, (count) => log.dropped(count));
	const listeners = new Listeners(
		(socket, listener) => sockets.add({ socket, listener }),
		(error) => log.acceptFailed(error),
	);
	let supervisor: Supervisor | undefined;
	const onSignal = (signal: NodeJS.Signals): void => supervisor?.signal(signal);
	process.on('SIGTERM', onSignal);
	process.on('SIGINT', onSignal);
	try {
		return await new Promise<number>((resolve) => {
			supervisor = new Supervisor({
				clock: systemClock,
				sockets,
				listeners,
				spawn: (events) => new WorkerProcess(events),
				pid: process.pid,
				stableMs,
				hangMs,
				standby,
				crashed: (report) => log.crashed(report),
				prepared: (pid) => log.prepared(pid),
				hung: (pid) => log.hung(pid),
				ended: resolve,
			});
			supervisor.start();
		});
	} finally {
		await listeners.close();
		sockets.destroy();
		process.off('SIGTERM', onSignal);
		process.off('SIGINT', onSignal);
	}
}
