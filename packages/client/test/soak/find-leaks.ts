import type { ProcessFigures } from './process-figures.ts';

/** What a process held after so many cycles. */
export interface SoakSample {
	readonly cycles: number;
	readonly figures: ProcessFigures;
}

/** What was found of one process. */
export interface LeakReport {
	/** A sentence for each figure that did not come back; empty if all is well. */
	readonly leaks: readonly string[];
	/** Growth of the heap in bytes for each cycle, by least squares over the samples after the warm-up. */
	readonly heapBytesPerCycle: number;
	/** The standard error of that slope: how much of it the scatter of the samples explains. */
	readonly heapBytesPerCycleError: number;
}

/** Growth that is no leak: a count may differ by what happens to be under way. */
const COUNT_SLACK = 2;
/** Half of what the smallest leak comes to: an entry of a map with its key that one of the twelve kinds of cycle leaves behind. */
const HEAP_BYTES_PER_CYCLE_MAX = 4;
/** A slope is sure when it is this many times its own error. */
const ERRORS_MIN = 3;

const COUNTS = ['fds', 'timers', 'listeners', 'resources', 'held'] as const;

/** Compares what a process held at the end with what it held at the start, and looks at the slope of its heap. */
export function findLeaks(samples: readonly SoakSample[]): LeakReport {
	const third = Math.ceil(samples.length / 3);
	const leaks: string[] = [];
	for (const name of COUNTS) {
		const before = Math.max(...samples.slice(0, third).map(({ figures }) => figures[name]));
		const after = Math.min(...samples.slice(-third).map(({ figures }) => figures[name]));
		if (after > before + COUNT_SLACK) leaks.push(`${name}: ${before} at first, ${after} at the end`);
	}
	const { slope, error } = leastSquares(samples.map(({ cycles, figures }) => [cycles, figures.heapBytes]));
	if (slope > HEAP_BYTES_PER_CYCLE_MAX && slope > ERRORS_MIN * error) {
		leaks.push(`heap: ${slope.toFixed(1)} bytes for each cycle, give or take ${error.toFixed(1)}`);
	}
	return { leaks, heapBytesPerCycle: slope, heapBytesPerCycleError: error };
}

/** The slope of the line through some points, and its standard error. */
function leastSquares(points: readonly (readonly [x: number, y: number])[]): { slope: number; error: number } {
	const count = points.length;
	const meanX = points.reduce((sum, [x]) => sum + x, 0) / count;
	const meanY = points.reduce((sum, [, y]) => sum + y, 0) / count;
	const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
	const slope = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread;
	const residue = points.reduce((sum, [x, y]) => sum + (y - meanY - slope * (x - meanX)) ** 2, 0);
	return { slope, error: Math.sqrt(residue / Math.max(1, count - 2) / spread) };
}
