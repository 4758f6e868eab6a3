import { isObject } from '@spock/protocol/internal';

import type { ReplayedRecord } from '../foundation/log-record.ts';

/** How far a group has come. */
export interface GroupPlace {
	readonly stream: string;
	readonly group: string;
	/** Every event of the stream below is done. */
	readonly position: number;
	/** Those above that are done. */
	readonly done: ReadonlySet<number>;
	/** One more each time that it was sent to a place after its first; a group that begins anew goes on from a higher number. */
	readonly rewinds: number;
}

/**
 * A change of a place, as it stands in the log. `to`: the group begins there, and nothing above is done. `place`: everything below is done,
 * and `done` besides what was done before. `deleted`: there is no such group any more.
 */
export type GroupNote = { readonly stream: string; readonly group: string } & (
	| { readonly to: number }
	| { readonly place: number; readonly done?: readonly number[] }
	| { readonly deleted: true }
);

interface Place extends GroupPlace {
	position: number;
	readonly done: Set<number>;
	rewinds: number;
}

/** [stream, group, rewinds, position, and the steps from each done position above to the next]: short numbers, as most steps are 1. */
type SavedPlace = [stream: string, group: string, rewinds: number, position: number, ...steps: number[]];
/** The stream, and group, of a saved place that tells where the rewinds of a new group begin. No stream has this name. */
const NO_STREAM = '';

/** The place of each group, as the notes in the log have it. Pure: it neither reads nor writes. */
export class GroupPlaces {
	readonly #places = new Map<string, Place>();
	/** Where the rewinds of a new group begin: above those of all that were deleted. */
	#rewindsBegin = 0;

	get size(): number {
		return this.#places.size;
	}

	/** Positions done above their places, of all groups. */
	get doneAbove(): number {
		let sum = 0;
		for (const { done } of this.#places.values()) sum += done.size;
		return sum;
	}

	get(stream: string, group: string): GroupPlace | undefined {
		return this.#places.get(placeKey(stream, group));
	}

	all(): readonly GroupPlace[] {
		return [...this.#places.values()];
	}

	apply(note: GroupNote): void {
		const { stream, group } = note;
		const key = placeKey(stream, group);
		if ('deleted' in note) {
			this.#rewindsBegin = Math.max(this.#rewindsBegin, (this.#places.get(key)?.rewinds ?? -1) + 1);
			this.#places.delete(key);
			return;
		}
		let place = this.#places.get(key);
		if (place === undefined) {
			place = { stream, group, position: 0, done: new Set(), rewinds: this.#rewindsBegin - ('to' in note ? 1 : 0) };
			this.#places.set(key, place);
		}
		if ('to' in note) {
			place.rewinds++;
			place.position = note.to;
			place.done.clear();
			return;
		}
		place.position = note.place;
		for (const position of place.done) if (position < note.place) place.done.delete(position);
		for (const position of note.done ?? []) place.done.add(position);
	}

	/** All places as JSON. */
	checkpoint(): string {
		const saved = this.all().map(({ stream, group, position, done, rewinds }): SavedPlace => {
			const above = [...done].sort((left, right) => left - right);
			return [stream, group, rewinds, position, ...above.map((each, index) => each - (above[index - 1] ?? position))];
		});
		if (this.#rewindsBegin > 0) saved.push([NO_STREAM, '', this.#rewindsBegin, 0]);
		return JSON.stringify(saved);
	}

	/** What `checkpoint` gave; forgets all else. */
	restore(checkpoint: string): void {
		this.#places.clear();
		this.#rewindsBegin = 0;
		for (const [stream, group, rewinds, position, ...steps] of JSON.parse(checkpoint) as readonly SavedPlace[]) {
			if (stream === NO_STREAM) {
				this.#rewindsBegin = rewinds;
				continue;
			}
			const done = new Set<number>();
			let at = position;
			for (const step of steps) {
				at += step;
				done.add(at);
			}
			this.#places.set(placeKey(stream, group), { stream, group, position, done, rewinds });
		}
	}

	/** A record found on disk; others than notes about groups are ignored, and those that only a newer version understands. */
	replay(record: ReplayedRecord): void {
		if (record.kind !== 'note' || record.of !== 'groups') return;
		const note: unknown = JSON.parse(record.text);
		if (isGroupNote(note)) this.apply(note);
	}
}

function isGroupNote(note: unknown): note is GroupNote {
	if (!isObject(note) || typeof note['stream'] !== 'string' || typeof note['group'] !== 'string') return false;
	return typeof note['to'] === 'number' || typeof note['place'] === 'number' || note['deleted'] === true;
}

/** Names hold no slash. */
export function placeKey(stream: string, group: string): string {
	return `${stream}/${group}`;
}
