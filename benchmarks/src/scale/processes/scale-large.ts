import { connect } from '@spock/client';

import type { LargeServiceFigure } from '../scale-results.ts';
import { memoryNow } from './answer-commands.ts';

/** What {@link probeScaleLarge} is given. */
export interface ScaleLargeSettings {
	readonly path: string;
	/** Looked up first, so that the client's own code is loaded. */
	readonly small: string;
	readonly large: string;
	readonly instances: number;
}

const SERVED_MS_MAX = 30_000;

/** A client that looks one large service up. Needs `--expose-gc`. Prints one line of JSON. */
export async function probeScaleLarge([settings = '{}']: readonly string[]): Promise<void> {
	const { path, small, large, instances } = JSON.parse(settings) as ScaleLargeSettings;
	const diplomat = await connect({ path, readyTimeoutMs: 60_000 });
	await diplomat.getService(small);
	const before = await memoryNow();
	const startedMs = performance.now();
	const found = await diplomat.getInstances(large, { timeoutMs: SERVED_MS_MAX }).catch((error: Error) => error);
	const firstMs = performance.now() - startedMs;
	// From the snapshot that the client keeps, where there is one.
	const again = await diplomat.getInstances(large, { timeoutMs: SERVED_MS_MAX }).catch(() => undefined);
	const isServed = !(found instanceof Error) && diplomat.pick(large) !== undefined;
	const after = await memoryNow();
	const figure: LargeServiceFigure = {
		instances,
		served: isServed ? (again?.instances.length ?? 0) : 0,
		isLive: again?.source === 'live',
		isOversize: again?.oversize === true,
		error: found instanceof Error ? found.message : isServed ? null : 'the client keeps no snapshot of it',
		firstMs,
		clientHeapMb: (after.heap - before.heap) / 2 ** 20,
		clientRssMb: (after.rss - before.rss) / 2 ** 20,
	};
	process.stdout.write(`${JSON.stringify(figure)}\n`);
	await diplomat.close();
}
