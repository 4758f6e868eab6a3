import { randomUUID } from 'node:crypto';

import { SpockError } from '@spock/protocol';

import { type GroupRecord, type MemberRecord, shareOf } from './group-record.ts';
import type { Kept, RecordPlace } from './places.ts';

/** Signs of life in the time after which others take a member for dead. */
export const BEATS_PER_LEASE = 3;
/** Members write one record; whoever comes second looks again. */
const TRIES_MAX = 16;

/**
 * One reader among those of a group, in any processes. Each counts up its own number in the record of the group; who has not for a lease is
 * removed by the others, and finds out at its next beat.
 */
export class GroupMembership {
	readonly name: string = randomUUID();
	readonly #place: RecordPlace<GroupRecord>;
	readonly #isWhole: boolean;
	#group: GroupRecord;
	/** The last number of each other member, and for how many beats of ours it has not changed. */
	readonly #seen = new Map<string, { readonly beat: number; readonly silentBeats: number }>();

	constructor(place: RecordPlace<GroupRecord>, isWhole: boolean, group: GroupRecord) {
		this.#place = place;
		this.#isWhole = isWhole;
		this.#group = group;
	}

	/** As this reader has written it last. */
	get group(): GroupRecord {
		return this.#group;
	}

	/** How many partitions are this reader's. */
	get share(): number {
		return shareOf(this.#group.members, this.name);
	}

	/** Gives false if the group was deleted meanwhile. */
	join(): Promise<boolean> {
		return this.#change((group) => ({ ...group, members: [...this.#others(group), this.#me(0)] }));
	}

	/** Gives a sign of life. False: the group was rewound or deleted, or others have taken this reader for dead. */
	async beat(): Promise<boolean> {
		let isCounted = false;
		return await this.#change((group) => {
			if (!this.#belongsTo(group)) return undefined;
			if (!isCounted) this.#countSilence(group);
			isCounted = true;
			const members = group.members
				.filter((member) => !this.#isSilent(member))
				.map((member) => (member.name === this.name ? this.#me(member.beat + 1) : member));
			return { ...group, members };
		});
	}

	/** The group begins elsewhere, with this reader alone: all others find out, and open it again. False as with `beat`. */
	rewind(begin: number): Promise<boolean> {
		return this.#change((group) => {
			if (!this.#belongsTo(group)) return undefined;
			return { begin, rewinds: group.rewinds + 1, members: [this.#me(0)] };
		});
	}

	async leave(): Promise<void> {
		await this.#change((group) => {
			const members = this.#others(group);
			return members.length === group.members.length ? undefined : { ...group, members };
		});
	}

	#me(beat: number): MemberRecord {
		return { name: this.name, beat, isWhole: this.#isWhole };
	}

	#others({ members }: GroupRecord): readonly MemberRecord[] {
		return members.filter(({ name }) => name !== this.name);
	}

	#belongsTo({ members, rewinds }: GroupRecord): boolean {
		return rewinds === this.#group.rewinds && members.some(({ name }) => name === this.name);
	}

	#countSilence(group: GroupRecord): void {
		const before = new Map(this.#seen);
		this.#seen.clear();
		for (const { name, beat } of this.#others(group)) {
			const seen = before.get(name);
			this.#seen.set(name, { beat, silentBeats: seen?.beat === beat ? seen.silentBeats + 1 : 0 });
		}
	}

	#isSilent({ name, beat }: MemberRecord): boolean {
		const seen = this.#seen.get(name);
		return seen !== undefined && seen.beat === beat && seen.silentBeats > BEATS_PER_LEASE;
	}

	/** False if there is no such group, or the change is none any more. Rejects with UNAVAILABLE where it is not known whether it was kept. */
	async #change(change: (group: GroupRecord) => GroupRecord | undefined): Promise<boolean> {
		for (let tries = 0; tries < TRIES_MAX; tries++) {
			const kept: Kept<GroupRecord> | undefined = await this.#place.get();
			const changed = kept && change(kept.value);
			if (kept === undefined || changed === undefined) return false;
			if ((await this.#place.replace(changed, kept.revision)) === undefined) continue;
			this.#group = changed;
			return true;
		}
		throw new SpockError('UNAVAILABLE', 'too many readers have changed the group at once; try again');
	}
}
