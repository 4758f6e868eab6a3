import { randomInt } from 'node:crypto';

const REWINDS_BEGIN_MAX = 2 ** 40;

/** How far a group has come, as the server keeps it. Positions are sequence numbers of the stream. */
export interface GroupRecord {
	/** Everything below is done. */
	readonly position: number;
	/** Those above that are done: the steps from each to the next, the first from `position`. */
	readonly steps: readonly number[];
	readonly rewinds: number;
	/** The reader that gives its events; null for none. */
	readonly holder: string | null;
	/** Counts up while the holder lives. */
	readonly beat: number;
}

/** A group that begins. Its `rewinds` begin anywhere, as nothing is kept of one of this name that was deleted. */
export function newGroup(position: number, rewinds: number = randomInt(REWINDS_BEGIN_MAX)): GroupRecord {
	return { position, steps: [], rewinds, holder: null, beat: 0 };
}

export function doneOf({ position, steps }: GroupRecord): Set<number> {
	const done = new Set<number>();
	let at = position;
	for (const step of steps) {
		at += step;
		done.add(at);
	}
	return done;
}

export function stepsOf(position: number, done: ReadonlySet<number>): number[] {
	const above = [...done].sort((left, right) => left - right);
	return above.map((each, index) => each - (above[index - 1] ?? position));
}
