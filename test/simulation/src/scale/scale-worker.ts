// Before the product: what that takes while it is loaded is to be seen.
import '../forbidden.ts';

import { parentPort, workerData } from 'node:worker_threads';

import { runScale } from './run-scale.ts';
import type { ScaleShape } from './scale-world.ts';

Error.stackTraceLimit = 0;

parentPort?.postMessage(await runScale(workerData as ScaleShape));
