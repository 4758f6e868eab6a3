import { GCProfiler, getHeapStatistics } from 'node:v8';

/**
 * How Node must be started for {@link allocatedBytes}: with a young generation that holds a whole measurement, so that
 * nothing is collected in between, and on one thread, so that no compiler works beside it at times of its own.
 */
export const ALLOCATION_FLAGS: readonly string[] = [
	'--expose-gc',
	'--single-threaded',
	'--min-semi-space-size=64',
	'--max-semi-space-size=64',
];

/** Runs of the shorter measurement. What twice as many allocate must fit into the young generation. */
const RUNS = 200;
const ROUNDS = 10;
/** Rounds before those that count: the code is compiled in its last form by then. */
const WARM_UP_ROUNDS = 40;

/**
 * Bytes on the heap that one run allocates, garbage or not. Memory outside of the heap, as that of buffers, is not in it.
 *
 * A round looks at the heap before and after some runs, and before and after twice as many: the difference is what half
 * of these allocated, without what looking costs. The least of many rounds is taken, because whatever else happens in the
 * process only adds. Needs {@link ALLOCATION_FLAGS}, and throws without them.
 */
export async function allocatedBytes(run: () => unknown): Promise<number> {
	let once = Number.POSITIVE_INFINITY;
	let twice = Number.POSITIVE_INFINITY;
	for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
		const grownOnce = await grownBytes(run, RUNS);
		const grownTwice = await grownBytes(run, 2 * RUNS);
		if (round < 0) continue;
		once = Math.min(once, grownOnce);
		twice = Math.min(twice, grownTwice);
	}
	if (!Number.isFinite(once + twice)) throw new Error(`something is collected within ${2 * RUNS} runs, in every round`);
	return (twice - once) / RUNS;
}

/** How much the heap grows by some runs; infinitely, if something was collected, because then it is not known. */
async function grownBytes(run: () => unknown, runs: number): Promise<number> {
	const { gc } = globalThis;
	if (gc === undefined) throw new Error(`start Node with ${ALLOCATION_FLAGS.join(' ')}`);
	gc({ type: 'minor' });
	const profiler = new GCProfiler();
	profiler.start();
	const before = getHeapStatistics().used_heap_size;
	for (let index = 0; index < runs; index++) {
		const result = run();
		// To await what is no promise would allocate by itself.
		if (result instanceof Promise) await result;
	}
	const grown = getHeapStatistics().used_heap_size - before;
	const { statistics } = profiler.stop();
	return statistics.length === 0 ? grown : Number.POSITIVE_INFINITY;
}
