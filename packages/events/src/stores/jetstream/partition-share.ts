import { SpockError } from '@spock/protocol';

import { doneOf, type PartitionRecord, stepsOf } from './group-record.ts';
import type { Kept, RecordPlace } from './places.ts';

/** So many positions of a partition take some 20 kB at the server, and are written at each note. */
const DONE_ABOVE_MAX = 8192;

interface Waiter {
	readonly resolve: () => void;
	readonly reject: (error: unknown) => void;
}

/** What happens to a share. */
export interface ShareListener {
	/** It belongs to somebody else: nothing that is done here counts any more. */
	lost(): void;
	/** It was let go: whoever reads on has everything that was done. */
	released(): void;
	/** There is room for what is done again. */
	room(): void;
}

/**
 * A partition that a reader of a group has. What is done is one record at the server, which only replaces the one that this reader has read or
 * written: whoever takes the partition replaces it too, and from then on no note from here is taken.
 */
export class PartitionShare {
	readonly partition: number;
	readonly #place: RecordPlace<PartitionRecord>;
	readonly #listener: ShareListener;
	#kept: Kept<PartitionRecord>;
	/** Everything below was given, or done, or is of other partitions. */
	#next: number;
	/** Given and not done, ascending. */
	readonly #given = new Set<number>();
	/** Done above the position, whether the record has it yet or not. */
	readonly #done: Set<number>;
	#state: 'held' | 'leaving' | 'ending' | 'stopped' = 'held';
	/** Who waits for the next note. */
	#waiters: Waiter[] = [];
	/** The write that is under way: one at a time. */
	#writing: Promise<void> | undefined;
	#isFull = false;

	constructor(
		partition: number,
		place: RecordPlace<PartitionRecord>,
		kept: Kept<PartitionRecord>,
		listener: ShareListener,
	) {
		this.partition = partition;
		this.#place = place;
		this.#kept = kept;
		this.#listener = listener;
		this.#next = kept.value.position;
		this.#done = doneOf(kept.value);
	}

	get next(): number {
		return this.#next;
	}

	/** Everything below is done. */
	get position(): number {
		for (const first of this.#given) return first;
		return this.#next;
	}

	/** So many are given and not done. */
	get out(): number {
		return this.#given.size;
	}

	get isLeaving(): boolean {
		return this.#state !== 'held';
	}

	/** Whether no more may be given until older ones are done. */
	isFull(): boolean {
		this.#isFull = this.#done.size >= DONE_ABOVE_MAX;
		return this.#isFull;
	}

	/** Whether the event at this position, above all that were asked for before, is to be given now. */
	give(position: number): boolean {
		if (this.isLeaving || position < this.#next) return false;
		this.#next = position + 1;
		if (this.#done.has(position)) return false;
		this.#given.add(position);
		return true;
	}

	/** Below this position nothing more comes. */
	passed(position: number): void {
		if (!this.isLeaving && position > this.#next) this.#next = position;
	}

	done(position: number): void {
		if (this.#given.delete(position)) this.#done.add(position);
	}

	/** Resolves when everything that is done is kept; rejects when it never will be from here. */
	kept(): Promise<void> {
		if (this.#state === 'stopped') return Promise.reject(endedError());
		return new Promise((resolve, reject) => {
			this.#waiters.push({ resolve, reject });
			queueMicrotask(() => this.#write());
		});
	}

	/** Writes how far it has come, if there is anything to write. */
	note(): void {
		const isSame = this.position === this.#kept.value.position && this.#waiters.length === 0;
		if (!isSame || this.#isLast) this.#write();
	}

	/** Gives nothing more, and lets the partition go when everything given is done. */
	leave(): void {
		if (this.#state === 'held') this.#state = 'leaving';
		this.note();
	}

	/** Gives on, unless it is let go already. */
	stay(): void {
		if (this.#state === 'leaving' && !(this.#writing !== undefined && this.#isLast)) this.#state = 'held';
	}

	/** Lets the partition go now; what is not done is given by the next one that has it. Never rejects. */
	async end(): Promise<void> {
		if (this.#state !== 'stopped') this.#state = 'ending';
		while (this.#writing !== undefined) await this.#writing;
		this.#write();
		while (this.#writing !== undefined) await this.#writing;
		this.#state = 'stopped';
		this.settle(endedError());
	}

	/** Writes nothing more; resolves when what is under way has ended. Who waits is settled by `settle`. */
	async stop(): Promise<void> {
		this.#state = 'stopped';
		while (this.#writing !== undefined) await this.#writing;
	}

	settle(error?: SpockError): void {
		for (const { resolve, reject } of this.#waiters.splice(0)) {
			if (error === undefined) resolve();
			else reject(error);
		}
	}

	get #isLast(): boolean {
		return this.#state === 'ending' || (this.#state === 'leaving' && this.#given.size === 0);
	}

	/** What comes meanwhile goes into the next write. After a fault it is tried again with the next `note`. */
	#write(): void {
		if (this.#writing !== undefined || this.#state === 'stopped') return;
		const waiters = this.#waiters.splice(0);
		const isLast = this.#isLast;
		this.#writing = this.#replace(isLast).then(
			() => {
				this.#writing = undefined;
				for (const { resolve } of waiters) resolve();
				this.#written(isLast);
			},
			(error: unknown) => {
				this.#writing = undefined;
				// They may be kept all the same: the next write asks first.
				this.#waiters.unshift(...waiters);
				if (error === LOST) this.#listener.lost();
			},
		);
	}

	#written(wasLast: boolean): void {
		if (wasLast) {
			this.#state = 'stopped';
			this.#listener.released();
			return;
		}
		if (this.#waiters.length > 0 || this.#isLast) this.#write();
		if (!this.#isFull || this.#done.size >= DONE_ABOVE_MAX) return;
		this.#isFull = false;
		this.#listener.room();
	}

	async #replace(isLast: boolean): Promise<void> {
		const { value, revision } = this.#kept;
		const { position } = this;
		for (const done of this.#done) if (done < position) this.#done.delete(done);
		const holder = isLast ? null : value.holder;
		const record: PartitionRecord = { ...value, position, steps: stepsOf(position, this.#done), holder };
		const replaced = await this.#place.replace(record, revision);
		if (replaced !== undefined) {
			this.#kept = { value: { ...record, holder: value.holder }, revision: replaced };
			return;
		}
		// Somebody has written: this reader itself, if its last write was not answered.
		const kept = await this.#place.get();
		const isMine = kept?.value.holder === value.holder && kept.value.rewinds === value.rewinds;
		if (kept === undefined || !isMine) throw LOST;
		this.#kept = kept;
		throw new SpockError('UNAVAILABLE', 'a write before this one was kept; the next one replaces it');
	}
}

const LOST = new SpockError('UNAVAILABLE', 'the partition belongs to another reader');

function endedError(): SpockError {
	return new SpockError('UNAVAILABLE', 'the reader was closed before its notes were kept');
}
