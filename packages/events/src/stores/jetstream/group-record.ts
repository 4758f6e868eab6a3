import { randomInt } from 'node:crypto';

import { PARTITIONS } from './event-message.ts';

const REWINDS_BEGIN_MAX = 2 ** 40;

/** A group, as the server keeps it: where it began, and who reads it. Positions are sequence numbers of the stream. */
export interface GroupRecord {
	/** Where a partition begins that has no record of this number of rewinds. */
	readonly begin: number;
	readonly rewinds: number;
	/** The one that joined first is the first. */
	readonly members: readonly MemberRecord[];
}

/** A reader of a group. */
export interface MemberRecord {
	readonly name: string;
	/** Counts up while it lives. */
	readonly beat: number;
	/** It needs all partitions or none. */
	readonly isWhole: boolean;
}

/** How far a group has come in one partition, as the server keeps it. */
export interface PartitionRecord {
	/** Of the group at that time; with another number it says nothing. */
	readonly rewinds: number;
	/** Everything below is done. */
	readonly position: number;
	/** Those above that are done: the steps from each to the next, the first from `position`. */
	readonly steps: readonly number[];
	/** The reader that gives its events; null for none. One that is no member any more is none. */
	readonly holder: string | null;
}

/** A group that begins. Its `rewinds` begin anywhere, as nothing is kept of one of this name that was deleted. */
export function newGroup(begin: number, rewinds: number = randomInt(REWINDS_BEGIN_MAX)): GroupRecord {
	return { begin, rewinds, members: [] };
}

/** How many partitions a member should have: of all of them as many as any other, or all for the first if one must have all. */
export function shareOf(members: readonly MemberRecord[], name: string): number {
	const rank = members.findIndex((member) => member.name === name);
	if (rank === -1) return 0;
	if (members.some(({ isWhole }) => isWhole)) return rank === 0 ? PARTITIONS : 0;
	return Math.floor(PARTITIONS / members.length) + (rank < PARTITIONS % members.length ? 1 : 0);
}

export function doneOf({ position, steps }: PartitionRecord): Set<number> {
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
