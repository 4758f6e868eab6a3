import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { LogRecord } from '../foundation/log-record.ts';
import { type GroupNote, GroupPlaces } from './group-places.ts';

const note: fc.Arbitrary<GroupNote> = fc.oneof(
	fc.record({ stream: fc.constantFrom('a', 'b'), group: fc.constantFrom('g', 'h'), to: fc.nat(100) }),
	fc.record({
		...{ stream: fc.constantFrom('a', 'b'), group: fc.constantFrom('g', 'h'), place: fc.nat(100) },
		done: fc.array(fc.nat(1_000_000)),
	}),
	fc.record({
		...{ stream: fc.constantFrom('a', 'b'), group: fc.constantFrom('g', 'h') },
		deleted: fc.constant(true as const),
	}),
);

function record(text: string, of: 'groups' | 'producers' = 'groups'): LogRecord {
	return { kind: 'note', of, text, position: 1, time: 1 };
}

describe('the places of groups', () => {
	it('are the same after a checkpoint and what follows it as after all notes', () => {
		const check = fc.property(fc.array(note), fc.array(note), (before, after) => {
			const all = new GroupPlaces();
			for (const each of before) all.replay(record(JSON.stringify(each)));
			const restored = new GroupPlaces();
			restored.apply({ stream: 'x', group: 'gone', to: 1 });
			restored.restore(all.checkpoint());
			for (const each of after) for (const places of [all, restored]) places.replay(record(JSON.stringify(each)));
			expect(new Set(restored.all().map(sorted))).toEqual(new Set(all.all().map(sorted)));
		});
		fc.assert(check);
	});

	it('forget what was done above at a rewind, and below at an advance', () => {
		const places = new GroupPlaces();
		places.apply({ stream: 'a', group: 'g', to: 5 });
		places.apply({ stream: 'a', group: 'g', place: 5, done: [7, 9, 11] });
		places.apply({ stream: 'a', group: 'g', place: 10, done: [12] });
		expect(places.get('a', 'g')).toMatchObject({ position: 10, done: new Set([11, 12]) });
		expect(places.get('a', 'g')?.rewinds).toBe(0);
		places.apply({ stream: 'a', group: 'g', to: 3 });
		expect(places.get('a', 'g')).toMatchObject({ position: 3, done: new Set(), rewinds: 1 });
	});

	it('count rewinds on beyond the deletion of a group, also from a checkpoint', () => {
		const places = new GroupPlaces();
		const begin: GroupNote = { stream: 'a', group: 'g', to: 5 };
		for (const note of [begin, begin]) places.apply(note);
		places.apply({ stream: 'a', group: 'g', deleted: true });
		const restored = new GroupPlaces();
		restored.restore(places.checkpoint());
		expect(restored.size).toBe(0);
		for (const each of [places, restored]) each.apply(begin);
		expect([places, restored].map((each) => each.get('a', 'g')?.rewinds)).toEqual([2, 2]);
	});

	it('ignore notes of others, and those that they do not understand', () => {
		const places = new GroupPlaces();
		places.replay(record('{"stream":"a","group":"g","to":5}', 'producers'));
		places.replay(record('{"stream":"a","group":"g","paused":true}'));
		places.replay(record('{"stream":"a"}'));
		places.replay(record('7'));
		expect(places.size).toBe(0);
	});

	it('take little room in a checkpoint: 8192 positions above a place take less than 24 kB', () => {
		const places = new GroupPlaces();
		const done = Array.from({ length: 8192 }, (_, index) => 1_000_000_000 + index * 3);
		places.apply({ stream: 'a', group: 'g', place: 999_999_999, done });
		expect(places.checkpoint().length).toBeLessThan(24_000);
	});
});

function sorted({ stream, group, position, done, rewinds }: ReturnType<GroupPlaces['all']>[number]): string {
	return JSON.stringify([stream, group, rewinds, position, [...done].sort((left, right) => left - right)]);
}
