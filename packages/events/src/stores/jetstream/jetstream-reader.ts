import { randomUUID } from 'node:crypto';

import { type ConsumeFrom, SpockError } from '@spock/protocol';

import type { StoreReader } from '../../foundation/event-store.ts';
import type { LogEvent } from '../../foundation/log-record.ts';
import { doneOf, type GroupRecord, stepsOf } from './group-record.ts';
import type { Kept } from './places.ts';
import type { StreamTail } from './stream-tail.ts';

/** So many positions of a group take some 20 kB at the server, and are written at each note. */
const DONE_ABOVE_MAX = 8192;
/** Notes and signs of life in the time after which another reader takes over. */
const BEATS_PER_LEASE = 3;

/** What a reader needs of its store. */
export interface ReaderStore {
	readonly leaseMs: number;
	/** The events from a sequence number on; `more` is called when some have come. */
	tail(from: number, more: () => void): StreamTail;
	/** Where in the stream this is, by what the server has now. */
	sequenceOf(from: ConsumeFrom): Promise<number>;
	get(): Promise<Kept<GroupRecord> | undefined>;
	/** Undefined: somebody else has written meanwhile. */
	replace(record: GroupRecord, revision: number): Promise<number | undefined>;
	closed(reader: JetStreamReader): void;
}

interface Waiter {
	readonly resolve: () => void;
	readonly reject: (error: unknown) => void;
}

/**
 * The events of a stream, for one group or for a reader without. What a group has done is one record at the server, which only replaces the one
 * that this reader has written or read. So of several readers of a group, in any processes, one gives events, and the others wait until
 * it lets go or has given no sign of life for a while; whoever was thought dead finds out at its next note, before anything counts as done.
 */
export class JetStreamReader implements StoreReader {
	readonly #store: ReaderStore;
	readonly #name: string = randomUUID();
	/** Of the group; undefined without one. */
	#kept: Kept<GroupRecord> | undefined;
	#state: 'waiting' | 'giving' | 'lost' | 'closed' = 'waiting';
	#lost: SpockError | undefined;
	#tail: StreamTail | undefined;
	readonly #given = new Set<number>();
	/** Done above the position of the record, whether it knows yet or not. */
	#done = new Set<number>();
	/** Who waits for the next note. */
	#waiters: Waiter[] = [];
	/** The write to the record that is under way: one at a time. */
	#writing: Promise<void> | undefined;
	#timer: NodeJS.Timeout | undefined;
	/** Beats of waiting for which the record was not written. */
	#silentBeats = 0;
	#hasBeaten = false;
	#isFull = false;
	#more: () => void = () => undefined;

	constructor(store: ReaderStore, begin: number | Kept<GroupRecord>) {
		this.#store = store;
		if (typeof begin !== 'number') this.#kept = begin;
		else this.#give(begin);
	}

	/** For a group, before anything else: takes it over if nobody has it. */
	async start(): Promise<void> {
		if (this.#kept?.value.holder === null) await this.#claim(this.#kept);
		this.#arm();
	}

	get position(): number {
		for (const first of this.#given) return first;
		if (this.#state === 'giving' && this.#tail !== undefined) return this.#tail.position;
		return this.#kept?.value.position ?? 0;
	}

	get rewinds(): number {
		return this.#kept?.value.rewinds ?? 0;
	}

	async read({ eventsMax, bytesMax }: { eventsMax: number; bytesMax: number }): Promise<readonly LogEvent[]> {
		if (this.#lost !== undefined) throw this.#lost;
		if (this.#state !== 'giving' || this.#tail === undefined) return [];
		this.#isFull = this.#kept !== undefined && this.#done.size >= DONE_ABOVE_MAX;
		if (this.#isFull) return [];
		const tail = this.#tail;
		for (;;) {
			await tail.ready(eventsMax);
			if (this.#lost !== undefined) throw this.#lost;
			if (tail !== this.#tail || this.#state !== 'giving') return [];
			const taken = tail.take(eventsMax, bytesMax);
			const fresh = taken.filter(({ position }) => !this.#done.has(position));
			for (const { position } of fresh) this.#given.add(position);
			if (fresh.length > 0 || taken.length === 0) return fresh;
		}
	}

	onMore(listener: () => void): void {
		this.#more = listener;
	}

	done(positions: readonly number[]): Promise<void> {
		let isNew = false;
		for (const position of positions) {
			if (!this.#given.delete(position) || this.#kept === undefined) continue;
			this.#done.add(position);
			isNew = true;
		}
		if (this.#lost !== undefined) return Promise.reject(this.#lost);
		if (!isNew && this.#writing === undefined) return Promise.resolve();
		return new Promise((resolve, reject) => {
			this.#waiters.push({ resolve, reject });
			queueMicrotask(() => this.#write());
		});
	}

	async rewind(to: ConsumeFrom): Promise<number> {
		const position = await this.#store.sequenceOf(to);
		if (this.#kept === undefined) {
			this.#refuseIfEnded();
			this.#give(position);
			return position;
		}
		// What is being written would be written over what comes now.
		while (this.#writing !== undefined) await this.#writing;
		this.#refuseIfEnded();
		const { value, revision } = this.#kept;
		// Whoever gives now finds out with its next sign of life, and must not be waited for.
		const holder = this.#state === 'giving' ? this.#name : null;
		const record = { ...value, position, steps: [], rewinds: value.rewinds + 1, holder, beat: value.beat + 1 };
		const rewound = this.#replace(record, revision);
		this.#writing = rewound.then(
			() => this.#written(),
			() => this.#written(),
		);
		await rewound;
		if (this.#state === 'giving') this.#give(position);
		return position;
	}

	async close(): Promise<void> {
		if (this.#state === 'closed') return;
		const wasGiving = this.#state === 'giving';
		this.#state = 'closed';
		clearTimeout(this.#timer);
		this.#tail?.close();
		this.#given.clear();
		while (this.#writing !== undefined) await this.#writing;
		const kept = this.#kept;
		if (wasGiving && kept !== undefined) {
			try {
				await this.#replace({ ...this.#record(kept.value), holder: null }, kept.revision);
				this.#settle();
			} catch (error) {
				this.#settle(error);
			}
		}
		this.#store.closed(this);
	}

	#give(position: number): void {
		this.#tail?.close();
		this.#state = 'giving';
		this.#given.clear();
		this.#done = this.#kept === undefined ? new Set() : doneOf(this.#kept.value);
		this.#tail = this.#store.tail(position, () => this.#more());
	}

	/** The record as it should be now. */
	#record(value: GroupRecord): GroupRecord {
		const position = this.position;
		for (const done of this.#done) if (done < position) this.#done.delete(done);
		return { ...value, position, steps: stepsOf(position, this.#done), beat: value.beat + 1 };
	}

	/** Writes what is done: what comes meanwhile goes into the next. After a fault it is tried again with the next beat. */
	#write(): void {
		if (this.#writing !== undefined || this.#state !== 'giving' || this.#kept === undefined) return;
		const waiters = this.#waiters;
		this.#waiters = [];
		const { value, revision } = this.#kept;
		this.#writing = this.#replace(this.#record(value), revision).then(
			() => {
				for (const { resolve } of waiters) resolve();
				this.#written();
			},
			() => {
				// It may be kept all the same: the next try asks first.
				this.#waiters.unshift(...waiters);
				if (this.#lost !== undefined) this.#settle(this.#lost);
				this.#written();
			},
		);
	}

	#written(): void {
		this.#writing = undefined;
		if (this.#state !== 'giving') return;
		if (this.#waiters.length > 0 && this.#hasBeaten) this.#write();
		if (!this.#isFull || this.#done.size >= DONE_ABOVE_MAX) return;
		this.#isFull = false;
		this.#more();
	}

	/** Replaces the record. Rejects where that is not known, and once it belongs to somebody else. */
	async #replace(record: GroupRecord, revision: number): Promise<void> {
		this.#hasBeaten = false;
		const replaced = await this.#store.replace(record, revision);
		if (replaced === undefined) throw await this.#look();
		this.#kept = { value: record, revision: replaced };
		this.#hasBeaten = true;
	}

	/** Somebody has written: this reader itself, if its last write was not answered. */
	async #look(): Promise<SpockError> {
		const kept = await this.#store.get();
		const mine = this.#kept?.value;
		const isMine = kept?.value.holder === this.#name && kept.value.rewinds === mine?.rewinds;
		if (kept !== undefined && (isMine || this.#state === 'waiting')) this.#kept = kept;
		else if (this.#state === 'giving') this.#lose();
		return new SpockError('UNAVAILABLE', 'the place of the group was written by another reader');
	}

	#lose(): void {
		this.#state = 'lost';
		this.#lost = new SpockError('UNAVAILABLE', 'the group was rewound, deleted or taken over elsewhere; open it again');
		clearTimeout(this.#timer);
		this.#tail?.close();
		this.#given.clear();
		this.#settle(this.#lost);
		this.#more();
	}

	#settle(error?: unknown): void {
		for (const { resolve, reject } of this.#waiters.splice(0)) {
			if (error === undefined) resolve();
			else reject(error);
		}
	}

	#arm(): void {
		if (this.#state !== 'waiting' && this.#state !== 'giving') return;
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => {
			this.#beat().then(
				() => this.#arm(),
				// The server is away: the next beat tries again.
				() => this.#arm(),
			);
		}, this.#store.leaseMs / BEATS_PER_LEASE);
		this.#timer.unref();
	}

	async #beat(): Promise<void> {
		if (this.#state === 'giving') {
			this.#write();
			await this.#writing;
			return;
		}
		if (this.#state !== 'waiting' || this.#kept === undefined) return;
		const before = this.#kept.revision;
		const kept = await this.#store.get();
		if (this.#state !== 'waiting') return;
		if (kept === undefined) {
			this.#lose();
			return;
		}
		this.#kept = kept;
		this.#silentBeats = kept.revision === before ? this.#silentBeats + 1 : 0;
		if (kept.value.holder === null || this.#silentBeats > BEATS_PER_LEASE) await this.#claim(kept);
	}

	async #claim({ value, revision }: Kept<GroupRecord>): Promise<void> {
		await this.#replace({ ...value, holder: this.#name, beat: value.beat + 1 }, revision);
		if (this.#state !== 'waiting') return;
		this.#give(value.position);
		this.#more();
	}

	#refuseIfEnded(): void {
		if (this.#lost !== undefined) throw this.#lost;
		if (this.#state === 'closed') throw new SpockError('UNAVAILABLE', 'the reader was closed meanwhile; try again');
	}
}
