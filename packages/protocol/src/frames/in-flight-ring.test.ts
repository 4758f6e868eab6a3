import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { InFlightRing } from './in-flight-ring.ts';

describe('InFlightRing', () => {
	it('wraps from the largest id to 0, and 0 is an id like any other', () => {
		const ring = new InFlightRing<string>({ capacity: 4, firstId: 0xffff_ffff });
		expect(ring.issue('last')).toBe(0xffff_ffff);
		expect(ring.issue('zero')).toBe(0);
		expect(ring.take(0)).toBe('zero');
		expect(ring.take(0xffff_ffff)).toBe('last');
		expect(ring.size).toBe(0);
	});

	it('skips a busy slot after a wrap and never overwrites it', () => {
		const ring = new InFlightRing<string>({ capacity: 4, firstId: 0 });
		const long = ring.issue('long');
		let before = long;
		for (let turn = 0; turn < 100; turn++) {
			const id = ring.issue(`short ${turn}`);
			expect(id & 3).not.toBe(long & 3);
			// Never one that was given before: a late reply to that would find the new entry.
			expect(id).toBeGreaterThan(before);
			before = id;
			expect(ring.take(id)).toBe(`short ${turn}`);
		}
		expect(ring.take(long)).toBe('long');
	});

	it('says -1 when every slot is busy, and goes on when one is free', () => {
		const ring = new InFlightRing<number>({ capacity: 2 });
		const first = ring.issue(1);
		ring.issue(2);
		expect(ring.issue(3)).toBe(-1);
		expect(ring.size).toBe(2);
		ring.take(first);
		expect(ring.issue(3)).toBeGreaterThan(-1);
	});

	it('gives a late answer to nobody: the slot is busy with another id', () => {
		const ring = new InFlightRing<string>({ capacity: 2, firstId: 0 });
		const timedOut = ring.issue('timed out');
		ring.take(timedOut);
		ring.issue('filler');
		const next = ring.issue('next');
		expect(next & 1).toBe(timedOut & 1);
		expect(ring.take(timedOut)).toBeUndefined();
		expect(ring.peek(next)).toBe('next');
	});

	it('starts small and keeps every entry reachable while it grows', () => {
		const ring = new InFlightRing<number>({ capacity: 65_536, firstId: 0xffff_fff0 });
		expect(ring.slots).toBeLessThanOrEqual(64);
		const ids = Array.from({ length: 65_536 }, (_, index) => ring.issue(index));
		expect(ring.slots).toBe(65_536);
		expect(new Set(ids).size).toBe(65_536);
		expect(ring.issue(-1)).toBe(-1);
		for (const [index, id] of ids.entries()) expect(ring.take(id)).toBe(index);
		expect(ring.size).toBe(0);
	});

	it('grows only when half of its slots are taken, and stays small while few are in flight', () => {
		const ring = new InFlightRing<number>({ capacity: 1024 });
		for (let turn = 0; turn < 1000; turn++) ring.take(ring.issue(turn));
		expect(ring.slots).toBe(64);
		for (let turn = 0; turn < 32; turn++) ring.issue(turn);
		expect(ring.slots).toBe(64);
		ring.issue(32);
		expect(ring.slots).toBe(128);
	});

	it('takes a capacity up to 2^31, of which it makes only what it needs', () => {
		expect(new InFlightRing({ capacity: 2 ** 31 }).slots).toBeLessThanOrEqual(64);
	});

	it('refuses a capacity that is no power of two, naming it', () => {
		for (const capacity of [0, 3, -4, 1.5, Number.NaN, 2 ** 32]) {
			expect(() => new InFlightRing({ capacity })).toThrow(`not ${capacity}`);
		}
	});

	it('behaves as a map from id to entry, whatever is issued, taken, or asked for in vain', () => {
		const command = fc.oneof(
			{ weight: 5, arbitrary: fc.record({ kind: fc.constant('issue' as const), index: fc.nat() }) },
			{ weight: 4, arbitrary: fc.record({ kind: fc.constant('take' as const), index: fc.nat() }) },
			{ weight: 1, arbitrary: fc.record({ kind: fc.constant('stranger' as const), index: fc.nat(0xffff_ffff) }) },
			{ weight: 1, arbitrary: fc.record({ kind: fc.constant('takeOdd' as const), index: fc.nat() }) },
		);
		fc.assert(
			fc.property(
				fc.constantFrom(1, 2, 8, 128),
				fc.constantFrom(0, 1, 0xffff_fff8),
				fc.array(command, { maxLength: 400 }),
				(capacity, firstId, commands) => {
					const ring = new InFlightRing<number>({ capacity, firstId });
					const model = new Map<number, number>();
					let value = 0;
					for (const { kind, index } of commands) {
						if (kind === 'issue') {
							const id = ring.issue(++value);
							expect(id === -1).toBe(model.size === capacity);
							if (id !== -1) {
								expect(model.has(id)).toBe(false);
								model.set(id, value);
							}
						} else if (kind === 'takeOdd') {
							const odd = [...model].filter(([, entry]) => entry % 2 === 1);
							expect(ring.takeWhere((entry) => entry % 2 === 1).sort()).toEqual(odd.map(([, entry]) => entry).sort());
							for (const [id] of odd) model.delete(id);
						} else {
							const id = kind === 'take' ? [...model.keys()][index % Math.max(1, model.size)] : index;
							if (id === undefined) continue;
							expect(ring.peek(id)).toBe(model.get(id));
							expect(ring.take(id)).toBe(model.get(id));
							model.delete(id);
						}
						expect(ring.size).toBe(model.size);
					}
					expect(ring.takeAll().sort()).toEqual([...model.values()].sort());
				},
			),
			{ numRuns: 300 },
		);
	});
});
