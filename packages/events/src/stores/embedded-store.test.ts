import { SpockError, STREAM_NAME_LENGTH_MAX } from '@spock/protocol';
import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { MemoryLog } from '../../test/memory-log.ts';
import type { StoreReader } from '../foundation/event-store.ts';
import { RECORD_BYTES_MAX } from '../segments/record.ts';
import {
	DEFAULT_GROUP_SHARE,
	DEFAULT_GROUPS_MAX,
	DEFAULT_HELD_MAX,
	EmbeddedStore,
	type EmbeddedStoreOptions,
} from './embedded-store.ts';

const BILLING = { group: 'billing', from: 'first' } as const;
const READ = { eventsMax: 100, bytesMax: 1_000_000 };

function makeStore(options: Partial<EmbeddedStoreOptions> = {}): { log: MemoryLog; store: EmbeddedStore } {
	const log = new MemoryLog();
	const store = new EmbeddedStore({ log, ...options });
	log.committed = () => store.committed();
	log.memory = store;
	return { log, store };
}

function reopen(log: MemoryLog): { log: MemoryLog; store: EmbeddedStore } {
	let store: EmbeddedStore | undefined;
	const again = log.reopened((other) => {
		store = new EmbeddedStore({ log: other });
		return store;
	});
	again.committed = () => store?.committed();
	return { log: again, store: store as unknown as EmbeddedStore };
}

async function positions(reader: StoreReader): Promise<number[]> {
	return (await reader.read(READ)).map(({ position }) => position);
}

/** Whether the promise has settled, as far as it can without the disk. */
async function hasSettled(promise: Promise<unknown>): Promise<boolean> {
	let isSettled = false;
	const note = (): void => {
		isSettled = true;
	};
	promise.then(note, note);
	await settle();
	return isSettled;
}

/** What `done` had promised, and what a crash has made of it. */
async function isDoneAfterCrash(options: Partial<EmbeddedStoreOptions>): Promise<boolean> {
	const { log, store } = makeStore(options);
	log.add('orders');
	const reader = await store.reader('orders', BILLING);
	const given = await positions(reader);
	log.persistsAlone = false;
	const done = reader.done(given);
	await settle();
	if (!(await hasSettled(done))) log.persist();
	await done;
	return (await positions(await reopen(log).store.reader('orders', BILLING))).length === 0;
}

describe('the embedded store', () => {
	it('an event is stored when it is persisted, not before', async () => {
		const { log, store } = makeStore();
		log.persistsAlone = false;
		const events = [log.add('orders'), log.add('orders'), log.add('orders')];
		const told: number[] = [];
		const append = store.append('orders', events, (position) => told.push(position));
		expect(await hasSettled(append)).toBe(false);
		log.persist(3);
		expect(await hasSettled(append)).toBe(false);
		expect(told).toEqual([2]);
		log.persist();
		await append;
		expect(told).toEqual([2, 3]);
	});

	it('`done` resolves when its note is on disk: a crash never brings back what it has confirmed', async () => {
		expect(await isDoneAfterCrash({})).toBe(true);
	});

	it('a planted bug is found: `done` resolves before', async () => {
		expect(await isDoneAfterCrash({ mistakes: { doneBeforePersisted: true } })).toBe(false);
	});

	it('writes one note for each commit, however many events are done', async () => {
		const { log, store } = makeStore();
		for (let index = 0; index < 50; index++) log.add('orders');
		const reader = await store.reader('orders', BILLING);
		const given = await positions(reader);
		log.persistsAlone = false;
		const before = log.next;
		const all = given.map((position) => reader.done([position]));
		await settle();
		expect(log.next).toBe(before + 1);
		log.persist();
		await Promise.all(all);
	});

	it('what is done while a note is on its way goes into the next', async () => {
		const { log, store } = makeStore();
		for (let index = 0; index < 3; index++) log.add('orders');
		const reader = await store.reader('orders', BILLING);
		const [one = 0, two = 0, three = 0] = await positions(reader);
		log.persistsAlone = false;
		const before = log.next;
		const first = reader.done([one]);
		await settle();
		const others = [reader.done([two]), reader.done([three])];
		await settle();
		expect(log.next).toBe(before + 1);
		log.persist();
		await first;
		expect(await hasSettled(others[0] as Promise<void>)).toBe(false);
		expect(log.next).toBe(before + 2);
		log.persist();
		await Promise.all(others);
	});

	it('a new group is there when its place is on disk', async () => {
		const { log, store } = makeStore();
		log.persistsAlone = false;
		const opening = store.reader('orders', { group: 'billing', from: 'new' });
		expect(await hasSettled(opening)).toBe(false);
		log.persist();
		expect((await opening).position).toBe(1);
	});

	it('places outlive the segments in which they were noted', async () => {
		const { log, store } = makeStore();
		for (let index = 0; index < 5; index++) log.add('orders');
		const reader = await store.reader('orders', BILLING);
		const given = await positions(reader);
		await reader.done([given[0] as number, given[3] as number]);
		log.beginSegment();
		await reader.done([given[1] as number]);
		await settle();
		const again = reopen(log);
		expect(await positions(await again.store.reader('orders', BILLING))).toEqual([given[2], given[4]]);
	});

	it('a reader wakes for its own stream alone', async () => {
		const { log, store } = makeStore();
		const reader = await store.reader('orders', { from: 'new' });
		let woken = 0;
		reader.onMore(() => woken++);
		expect(await positions(reader)).toEqual([]);
		log.add('clicks');
		await settle();
		expect(woken).toBe(0);
		log.add('orders');
		await settle();
		expect(woken).toBe(1);
		log.add('orders');
		await settle();
		expect(woken).toBe(1);
	});

	it('a place in front of what is kept begins with what is', async () => {
		const { log, store } = makeStore();
		for (let index = 0; index < 5; index++) log.add('orders');
		await settle();
		await (await store.reader('orders', BILLING)).close();
		log.trim(3);
		const reader = await store.reader('orders', BILLING);
		expect(reader.position).toBe(3);
		expect(await positions(reader)).toEqual([3, 4, 5]);
	});

	it('one group too many is refused', async () => {
		const { store } = makeStore({ groupsMax: 1 });
		await store.reader('orders', BILLING);
		const second = store.reader('clicks', BILLING);
		await expect(second).rejects.toMatchObject({ code: 'OVERLOADED', details: { groupsMax: 1 } });
	});

	it('groups that leave one event undone stop at the bound of all, each with a share, and go on when one moves', async () => {
		const { log, store } = makeStore({ heldMax: 20, groupShare: 4 });
		for (let index = 0; index < 50; index++) log.add('orders');
		const readers = await Promise.all(['a', 'b', 'c'].map((group) => store.reader('orders', { group, from: 'first' })));
		const woken = new Set<StoreReader>();
		for (const reader of readers) reader.onMore(() => woken.add(reader));
		/** Reads as far as it can and leaves the first event of each undone; gives how many each had. */
		const readAll = async (): Promise<number[]> =>
			Promise.all(
				readers.map(async (reader) => {
					let count = 0;
					for (let given = await positions(reader); given.length > 0; given = await positions(reader)) {
						count += given.length;
						await reader.done(given.filter((position) => position > 1));
						await settle();
					}
					return count;
				}),
			);
		const counts = await readAll();
		expect(Math.min(...counts)).toBeGreaterThanOrEqual(4);
		const held = store.groups().reduce((sum, { done }) => sum + done.size, 0);
		expect(held).toBeGreaterThanOrEqual(20 - readers.length);
		expect(held).toBeLessThan(20 + readers.length * 2 * 4);
		woken.clear();
		await readers[0]?.done([1]);
		await settle();
		expect(woken.size).toBe(readers.length);
		expect((await readAll())[0]).toBe(50 - (counts[0] as number));
		for (const reader of readers) await reader.done([1]);
		await readAll();
		expect(store.groups().every(({ done }) => done.size === 0)).toBe(true);
	});

	it('the places of all groups take less of a checkpoint than the longest record', () => {
		const longest = ['s', 'g'].map((letter) => letter.repeat(STREAM_NAME_LENGTH_MAX));
		const number = Number.MAX_SAFE_INTEGER;
		const placeBytes = JSON.stringify([...longest, number, number]).length + 1;
		const positions = DEFAULT_HELD_MAX + DEFAULT_GROUPS_MAX * 2 * DEFAULT_GROUP_SHARE;
		const stepBytes = String(number).length + 1;
		expect(DEFAULT_GROUPS_MAX * placeBytes + positions * stepBytes).toBeLessThan(RECORD_BYTES_MAX);
	});

	it('close rejects what waits for the disk, and refuses what comes', async () => {
		const { log, store } = makeStore();
		log.add('orders');
		const reader = await store.reader('orders', BILLING);
		const given = await positions(reader);
		log.persistsAlone = false;
		const done = reader.done(given);
		const opening = store.reader('clicks', BILLING);
		const refused = expect(Promise.all([done, opening])).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		const alsoRefused = expect(opening).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		await settle();
		await store.close();
		await Promise.all([refused, alsoRefused]);
		await expect(store.reader('orders', BILLING)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		expect(await positions(reader)).toEqual([]);
	});

	it('what was done just before a rewind counts no more', async () => {
		const { log, store } = makeStore();
		for (let index = 0; index < 3; index++) log.add('orders');
		const reader = await store.reader('orders', BILLING);
		const given = await positions(reader);
		log.persistsAlone = false;
		const first = reader.done(given.slice(1, 2));
		await settle();
		// Waits for the note of the first.
		const second = reader.done(given.slice(2));
		const rewinding = reader.rewind('first');
		await settle();
		log.persistsAlone = true;
		log.persist();
		await Promise.all([first, second, rewinding]);
		expect(await positions(reader)).toEqual(given);
		await settle();
		expect(store.groups()).toMatchObject([{ position: 1, done: new Set() }]);
	});

	it('a closed reader changes nothing any more', async () => {
		const { log, store } = makeStore();
		for (let index = 0; index < 3; index++) log.add('orders');
		const reader = await store.reader('orders', BILLING);
		const given = await positions(reader);
		const rewinding = expect(reader.rewind('new')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		await reader.close();
		await rewinding;
		await reader.done(given);
		await settle();
		expect(store.groups()).toMatchObject([{ position: 1, done: new Set() }]);
	});

	it('`done` rejects with what the log throws', async () => {
		const { log, store } = makeStore();
		log.add('orders');
		const reader = await store.reader('orders', BILLING);
		const given = await positions(reader);
		log.failure = new SpockError('UNAVAILABLE', 'released');
		await expect(reader.done(given)).rejects.toBe(log.failure);
	});

	it('a rewind while a read is under way gives nothing of that', async () => {
		const { log, store } = makeStore();
		for (let index = 0; index < 3; index++) log.add('orders');
		await settle();
		const reader = await store.reader('orders', BILLING);
		const reading = reader.read(READ);
		const rewinding = reader.rewind({ position: 2 });
		expect(await reading).toEqual([]);
		expect(await rewinding).toBe(2);
		expect(await positions(reader)).toEqual([2, 3]);
	});
});

it('a reader without a group begins anywhere else, and no note is kept of it', async () => {
	const { log, store } = makeStore();
	for (let count = 0; count < 3; count++) log.add('orders');
	const reader = await store.reader('orders', { from: 'first' });
	const given = await positions(reader);
	expect(given).toHaveLength(3);
	expect(await reader.rewind('first')).toBe(given[0]);
	expect(await positions(reader)).toEqual(given);
	expect(log.records.filter(({ kind }) => kind === 'note')).toEqual([]);
});
