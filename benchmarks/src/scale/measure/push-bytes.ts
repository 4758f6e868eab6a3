import type { ScaleNodeCommand } from '../processes/scale-node.ts';
import type { ScaleWatchersCommand, WatchedBytes } from '../processes/scale-watchers.ts';
import type { PushBytesFigure } from '../scale-results.ts';
import { type ScaleRun, startHelper } from '../scale-run.ts';

const SIZE = { instances: 1500, changes: 50 };
const SIZE_QUICK = { instances: 50, changes: 5 };
const SEEN_MS_MAX = 10_000;

/** Changes of one instance each, one after the other, and the bytes that a client of this build is sent for them. */
export async function measurePushBytes(run: ScaleRun): Promise<PushBytesFigure> {
	const { instances, changes } = run.quick ? SIZE_QUICK : SIZE;
	const path = run.place('bytes.sock');
	const node = await startHelper(run, 'scale-node', { path, instances });
	const settings = { path, service: 'large', watchers: 0, relay: run.place('relay.sock') };
	const watcher = await startHelper(run, 'scale-watchers', settings);
	try {
		let report = (await watcher.ask({ kind: 'count' } satisfies ScaleWatchersCommand)) as WatchedBytes;
		for (let change = 0; change < changes; change++) {
			const port = (await node.ask({ kind: 'change' } satisfies ScaleNodeCommand)) as number;
			report = (await watcher.ask({ kind: 'seen', port, timeoutMs: SEEN_MS_MAX })) as WatchedBytes;
			if (!report.isSeen) throw new Error(`change ${change} was not seen within ${SEEN_MS_MAX} ms`);
		}
		const { firstBytes, clientBytes, features } = report;
		return { instances, changes, wholeBytes: firstBytes, changeBytes: clientBytes / changes, features };
	} finally {
		await watcher.close();
		await node.close();
	}
}
