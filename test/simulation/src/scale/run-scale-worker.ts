import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

import { bundle } from '../bundle.ts';
import type { ScaleResult } from './run-scale.ts';
import type { ScaleShape } from './scale-world.ts';

/** Ten thousand pods, each with a sidecar of its own, take less. */
const HEAP_MB_MAX = 12_000;

/** Runs a large world in a thread, built from the sources. `root` is the repository. */
export async function runScaleWorker(root: string, shape: ScaleShape, name = 'scale'): Promise<ScaleResult> {
	const program = await bundle(root, name, 'test/simulation/src/scale/scale-worker.ts');
	const worker = new Worker(program, {
		workerData: shape,
		resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX, maxYoungGenerationSizeMb: 256 },
	});
	const [result] = (await once(worker, 'message')) as [ScaleResult];
	await worker.terminate();
	return result;
}
