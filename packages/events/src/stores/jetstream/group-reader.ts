import { type ConsumeFrom, SpockError } from '@spock/protocol';

import type { StoreReader } from '../../foundation/event-store.ts';
import type { LogEvent } from '../../foundation/log-record.ts';
import { PARTITIONS } from './event-message.ts';
import { BEATS_PER_LEASE, GroupMembership } from './group-membership.ts';
import type { GroupRecord, PartitionRecord } from './group-record.ts';
import { PartitionShare } from './partition-share.ts';
import type { Kept, RecordPlace } from './places.ts';
import type { StreamTail } from './stream-tail.ts';

/** Old holders of a partition may note while a group is rewound. */
const TRIES_MAX = 16;
const ALL: readonly number[] = Array.from({ length: PARTITIONS }, (_, partition) => partition);

type Tail = Pick<StreamTail, 'position' | 'ready' | 'take' | 'close'>;

/** What a reader of a group needs of its store. */
export interface GroupReaderStore {
	readonly leaseMs: number;
	/** The events of these partitions from a sequence number on; `more` is called when some have come. */
	tail(from: number, more: () => void, partitions: readonly number[]): Tail;
	/** Where in the stream this is, by what the server has now. */
	sequenceOf(from: ConsumeFrom): Promise<number>;
	readonly group: RecordPlace<GroupRecord>;
	partition(partition: number): RecordPlace<PartitionRecord>;
	/** The server could not be reached, and is tried again; null: it was. */
	failed(error: SpockError | null): void;
	closed(): void;
}

/**
 * The events of a stream for one group. Of its readers, in any processes, each has as many partitions as the others, or one has all of them:
 * by the record of the group each knows its share, lets go what is more, once everything given of it is done, and takes what nobody has.
 * A partition is one record, which only replaces the one that was read or written last. So whoever was thought dead finds out at its next
 * note, before anything counts as done, and ends: events that it has out are given by another reader, and must not be by two.
 */
export class GroupReader implements StoreReader {
	readonly #store: GroupReaderStore;
	readonly #membership: GroupMembership;
	readonly #isWhole: boolean;
	readonly #shares = new Map<number, PartitionShare>();
	/** By position. */
	readonly #given = new Map<number, PartitionShare>();
	#state: 'open' | 'rewinding' | 'lost' | 'closed' = 'open';
	#lost: SpockError | undefined;
	#tail: Tail | undefined;
	/** Those that the tail was begun for: what is taken later has events before it. */
	#followed: ReadonlyMap<number, PartitionShare> = new Map();
	/** Where the group was when this reader looked last, of what it does not have. */
	#elsewhere: number;
	#timer: NodeJS.Timeout | undefined;
	#beating: Promise<void> = Promise.resolve();
	#more: () => void = () => undefined;

	constructor(store: GroupReaderStore, group: GroupRecord, isWhole: boolean) {
		this.#store = store;
		this.#membership = new GroupMembership(store.group, isWhole, group);
		this.#isWhole = isWhole;
		this.#elsewhere = group.begin;
	}

	/** Before anything else: takes what nobody has. */
	async start(): Promise<void> {
		const found = await this.#look();
		try {
			if (!(await this.#membership.join())) {
				throw new SpockError('UNAVAILABLE', 'the group was deleted meanwhile; try again');
			}
			await this.#claim(found);
		} catch (error) {
			await this.close();
			throw error;
		}
		this.#arm();
	}

	get position(): number {
		if (this.#shares.size === 0) return this.#elsewhere;
		return Math.min(...[...this.#shares.values()].map(({ position }) => position));
	}

	get rewinds(): number {
		return this.#membership.group.rewinds;
	}

	async read({ eventsMax, bytesMax }: { eventsMax: number; bytesMax: number }): Promise<readonly LogEvent[]> {
		if (this.#lost !== undefined) throw this.#lost;
		const tail = this.#tail;
		if (tail === undefined) return [];
		// All are asked: each tells when it has room again.
		if ([...this.#shares.values()].filter((share) => share.isFull()).length > 0) return [];
		for (;;) {
			await tail.ready(eventsMax);
			if (this.#lost !== undefined) throw this.#lost;
			if (tail !== this.#tail) return [];
			const taken = tail.take(eventsMax, bytesMax);
			const fresh = taken.filter(({ event, partition }) => this.#give(event.position, partition));
			for (const share of this.#followed.values()) share.passed(tail.position);
			if (fresh.length > 0 || taken.length === 0) return fresh.map(({ event }) => event);
		}
	}

	onMore(listener: () => void): void {
		this.#more = listener;
	}

	async done(positions: readonly number[]): Promise<void> {
		const shares = new Set<PartitionShare>();
		for (const position of positions) {
			const share = this.#given.get(position);
			if (share === undefined) continue;
			this.#given.delete(position);
			share.done(position);
			shares.add(share);
		}
		if (this.#lost !== undefined) throw this.#lost;
		if (shares.size === 0 && this.#state !== 'open') return;
		await Promise.all([...(shares.size > 0 ? shares : this.#shares.values())].map((share) => share.kept()));
	}

	async rewind(to: ConsumeFrom): Promise<number> {
		const begin = await this.#store.sequenceOf(to);
		this.#refuseUnlessOpen();
		this.#state = 'rewinding';
		clearTimeout(this.#timer);
		await this.#beating;
		const shares = [...this.#shares.values()];
		try {
			// What is being written would be written over what comes now.
			await Promise.all(shares.map((share) => share.stop()));
			if (!(await this.#membership.rewind(begin))) throw lostError();
			this.#forget();
			// What was done counts no more.
			for (const share of shares) share.settle();
			await Promise.all(ALL.map((partition) => this.#restart(partition)));
		} catch (error) {
			this.#lose(SpockError.from(error));
			throw error;
		}
		this.#refuseUnlessOpen('rewinding');
		this.#state = 'open';
		this.#follow();
		this.#arm();
		return begin;
	}

	async close(): Promise<void> {
		if (this.#state === 'closed') return;
		const isLost = this.#lost !== undefined;
		this.#state = 'closed';
		clearTimeout(this.#timer);
		this.#tail?.close();
		this.#tail = undefined;
		await this.#beating;
		if (!isLost) await Promise.all([...this.#shares.values()].map((share) => share.end()));
		this.#forget();
		// Who does not hear of it finds out when the lease is over.
		await this.#membership.leave().catch(() => undefined);
		this.#store.closed();
	}

	#give(position: number, partition: number): boolean {
		const share = this.#followed.get(partition);
		if (share === undefined || !share.give(position)) return false;
		this.#given.set(position, share);
		return true;
	}

	/** Reads on with the partitions that are here now. Where one must have all, nothing is given before it has. */
	#follow(): void {
		this.#tail?.close();
		this.#tail = undefined;
		const shares = [...this.#shares.values()].filter(({ isLeaving }) => !isLeaving);
		if (this.#state !== 'open' || shares.length < (this.#isWhole ? PARTITIONS : 1)) return;
		const from = Math.min(...shares.map(({ next }) => next));
		this.#followed = new Map(shares.map((share) => [share.partition, share]));
		const partitions = [...this.#followed.keys()];
		this.#tail = this.#store.tail(from, () => this.#more(), partitions);
		this.#more();
	}

	#arm(): void {
		if (this.#state !== 'open') return;
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => {
			this.#beating = this.#beat().then(
				() => this.#beaten(null),
				// The server is away: the next beat tries again.
				(error: unknown) => this.#beaten(SpockError.from(error)),
			);
		}, this.#store.leaseMs / BEATS_PER_LEASE);
		this.#timer.unref();
	}

	#beaten(error: SpockError | null): void {
		// Where it reads, its tail knows more.
		if (this.#tail === undefined && this.#state === 'open') this.#store.failed(error);
		this.#arm();
	}

	async #beat(): Promise<void> {
		// Before the record of the group: a holder that is not in that has left, as it joins before it takes anything.
		const found = this.#staying().length < this.#membership.share ? await this.#look() : [];
		if (this.#state !== 'open') return;
		if (!(await this.#membership.beat())) {
			this.#lose(lostError());
			return;
		}
		if (this.#state !== 'open') return;
		this.#letGo();
		for (const share of this.#shares.values()) share.note();
		await this.#claim(found);
	}

	#staying(): readonly PartitionShare[] {
		return [...this.#shares.values()].filter(({ isLeaving }) => !isLeaving);
	}

	/** Those of which least is out go first. */
	#letGo(): void {
		const staying = this.#staying();
		const excess = staying.length - this.#membership.share;
		if (excess > 0) {
			const leaving = [...staying].sort((left, right) => left.out - right.out).slice(0, excess);
			for (const share of leaving) share.leave();
			this.#follow();
		} else if (excess < 0) {
			const back = [...this.#shares.values()].filter(({ isLeaving }) => isLeaving).slice(0, -excess);
			for (const share of back) share.stay();
			if (back.length > 0) this.#follow();
		}
	}

	/** What the server has of all partitions that are not here. */
	async #look(): Promise<readonly FoundPartition[]> {
		const others = ALL.filter((partition) => !this.#shares.has(partition));
		const found = await Promise.all(
			others.map(async (partition) => ({ partition, kept: await this.#store.partition(partition).get() })),
		);
		const { rewinds, begin } = this.#membership.group;
		const positions = found.map(({ kept }) => (kept?.value.rewinds === rewinds ? kept.value.position : begin));
		if (positions.length > 0) this.#elsewhere = Math.min(...positions);
		return found;
	}

	/** Takes of these what nobody has, as far as it is this reader's. */
	async #claim(found: readonly FoundPartition[]): Promise<void> {
		const { members, rewinds, begin } = this.#membership.group;
		const isFree = ({ kept }: FoundPartition): boolean => {
			const holder = kept?.value.rewinds === rewinds ? kept.value.holder : null;
			return holder === null || holder === this.#membership.name || members.every(({ name }) => name !== holder);
		};
		const rank = members.findIndex(({ name }) => name === this.#membership.name);
		const first = Math.floor((rank * PARTITIONS) / members.length);
		// Those who take something at the same time begin at different ones.
		const inTurn = [...found].sort((left, right) => turnOf(left, first) - turnOf(right, first));
		const count = Math.max(0, this.#membership.share - this.#staying().length);
		const wanted = inTurn.filter((each) => !this.#shares.has(each.partition) && isFree(each)).slice(0, count);
		const taken = await Promise.allSettled(
			wanted.map(async ({ partition, kept }) => {
				const isCurrent = kept?.value.rewinds === rewinds;
				const value = isCurrent ? kept.value : { rewinds, position: begin, steps: [] };
				return this.#take(partition, { ...value, holder: this.#membership.name }, kept?.revision ?? 0);
			}),
		);
		if (taken.some((each) => each.status === 'fulfilled' && each.value)) this.#follow();
		const failed = taken.find((each) => each.status === 'rejected');
		if (failed !== undefined) throw failed.reason;
	}

	/** False if another reader was quicker. */
	async #take(partition: number, value: PartitionRecord, before: number): Promise<boolean> {
		const place = this.#store.partition(partition);
		const revision = await place.replace(value, before);
		if (revision === undefined) return false;
		const share: PartitionShare = new PartitionShare(
			partition,
			place,
			{ value, revision },
			{
				lost: () => this.#lose(lostError()),
				released: () => {
					if (this.#shares.get(partition) === share) this.#shares.delete(partition);
				},
				room: () => this.#more(),
			},
		);
		this.#shares.set(partition, share);
		return true;
	}

	/** Takes a partition of the group that was rewound from whoever has it, unless that is a reader that has joined since. */
	async #restart(partition: number): Promise<void> {
		const { rewinds, begin } = this.#membership.group;
		const value = { rewinds, position: begin, steps: [], holder: this.#membership.name };
		for (let tries = 0; tries < TRIES_MAX; tries++) {
			const kept = await this.#store.partition(partition).get();
			if (kept?.value.rewinds === rewinds) return;
			if (await this.#take(partition, value, kept?.revision ?? 0)) return;
		}
		throw new SpockError('UNAVAILABLE', 'the group was rewound elsewhere at the same time');
	}

	#lose(error: SpockError): void {
		if (this.#state === 'lost' || this.#state === 'closed') return;
		this.#state = 'lost';
		this.#lost = error;
		clearTimeout(this.#timer);
		this.#tail?.close();
		this.#tail = undefined;
		for (const share of this.#shares.values()) {
			void share.stop().then(() => share.settle(error));
		}
		this.#forget();
		this.#more();
	}

	#forget(): void {
		this.#shares.clear();
		this.#given.clear();
	}

	#refuseUnlessOpen(as: 'open' | 'rewinding' = 'open'): void {
		if (this.#lost !== undefined) throw this.#lost;
		if (this.#state !== as) throw new SpockError('UNAVAILABLE', 'the reader was closed meanwhile; try again');
	}
}

/** A partition, as the server had it. */
interface FoundPartition {
	readonly partition: number;
	readonly kept: Kept<PartitionRecord> | undefined;
}

function turnOf({ partition }: FoundPartition, first: number): number {
	return (partition - first + PARTITIONS) % PARTITIONS;
}

function lostError(): SpockError {
	return new SpockError('UNAVAILABLE', 'the group was rewound, deleted or taken over elsewhere; open it again');
}
