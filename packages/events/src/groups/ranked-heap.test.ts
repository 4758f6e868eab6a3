import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { RankedHeap } from './ranked-heap.ts';

describe('a heap of ranked items', () => {
	it('gives the least rank first, whatever was removed from it', () => {
		const check = fc.property(
			fc.array(fc.nat(500), { minLength: 15, maxLength: 60 }),
			fc.array(fc.nat(1000)),
			(ranks, removals) => {
				const heap = new RankedHeap<{ rank: number; heapIndex: number }>();
				const items = ranks.map((rank) => ({ rank, heapIndex: -1 }));
				for (const item of items) heap.add(item);
				for (const index of removals) {
					const item = items[index % (items.length + 1)];
					if (item === undefined) continue;
					heap.remove(item);
					heap.remove(item);
					items.splice(items.indexOf(item), 1);
				}
				const given: number[] = [];
				for (let item = heap.shift(); item !== undefined; item = heap.shift()) given.push(item.rank);
				expect(given).toEqual(items.map(({ rank }) => rank).sort((left, right) => left - right));
			},
		);
		fc.assert(check, { numRuns: 500 });
	});
});
