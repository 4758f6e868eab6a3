import type { FuzzCase } from './generate/stream.ts';

/** Runs of a case that shrinking may take. */
const RUNS_MAX = 4000;

/**
 * The smallest case found that still has the bug: parts of the stream are left out, halves first and single bytes last,
 * and then cuts, for as long as that helps.
 */
export async function shrink(fuzzCase: FuzzCase, stillFails: (one: FuzzCase) => Promise<boolean>): Promise<FuzzCase> {
	let smallest = fuzzCase;
	let runs = 0;
	const attempt = async (one: FuzzCase): Promise<boolean> => {
		if (++runs > RUNS_MAX || !(await stillFails(one))) return false;
		smallest = one;
		return true;
	};
	await attempt({ ...smallest, cuts: [] });
	for (let before = -1; before !== smallest.stream.length && runs < RUNS_MAX; ) {
		before = smallest.stream.length;
		for (let size = Math.ceil(before / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
			for (let at = 0; at < smallest.stream.length && runs < RUNS_MAX; ) {
				if (!(await attempt(without(smallest, at, size)))) at += size;
			}
		}
	}
	for (const cut of smallest.cuts) {
		await attempt({ ...smallest, cuts: smallest.cuts.filter((other) => other !== cut) });
	}
	return smallest;
}

/** The case less some bytes; cuts behind them move, so that the same bytes stay apart. */
function without(fuzzCase: FuzzCase, at: number, size: number): FuzzCase {
	const { stream } = fuzzCase;
	const end = Math.min(stream.length, at + size);
	const moved = fuzzCase.cuts.map((cut) => (cut <= at ? cut : cut < end ? at : cut - (end - at)));
	return {
		...fuzzCase,
		stream: Buffer.concat([stream.subarray(0, at), stream.subarray(end)]),
		cuts: [...new Set(moved)].filter((cut) => cut > 0),
	};
}
