import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { KeptLines } from './kept-lines.ts';

describe('kept lines', () => {
	it('are what a list would hold, through growth, wrap and rewind', () => {
		const command = fc.oneof(
			{
				weight: 4,
				arbitrary: fc.record({ does: fc.constant('add' as const), count: fc.integer({ min: 1, max: 60 }) }),
			},
			{
				weight: 3,
				arbitrary: fc.record({ does: fc.constant('send' as const), count: fc.integer({ min: 1, max: 60 }) }),
			},
			{
				weight: 3,
				arbitrary: fc.record({ does: fc.constant('forget' as const), count: fc.integer({ min: 1, max: 60 }) }),
			},
			fc.record({ does: fc.constant('rewind' as const), count: fc.constant(1) }),
		);
		const run = (commands: readonly { does: 'add' | 'send' | 'forget' | 'rewind'; count: number }[]): void => {
			const kept = new KeptLines<string>();
			let list: { seq: number; bytes: number; sent: boolean }[] = [];
			let last = 0;
			for (const { does, count } of commands) {
				for (let time = 0; time < count; time++) {
					if (does === 'add') {
						last++;
						list.push({ seq: last, bytes: last % 7, sent: false });
						kept.add(`line ${last}`, last % 7, `owner ${last}`);
					} else if (does === 'send') {
						const next = list.find(({ sent }) => !sent);
						expect(kept.hasUnsent).toBe(next !== undefined);
						if (next === undefined) continue;
						expect([kept.next, kept.bytesOf(kept.next)]).toEqual([next.seq, next.bytes]);
						expect(kept.send()).toBe(`line ${next.seq}`);
						next.sent = true;
					} else if (does === 'forget' && list.length > 0) {
						kept.forget();
						list.shift();
					} else if (does === 'rewind') {
						kept.rewind();
						list = list.map((entry) => ({ ...entry, sent: false }));
					}
				}
				const sum = (entries: typeof list): number => entries.reduce((bytes, entry) => bytes + entry.bytes, 0);
				const sent = list.filter((entry) => entry.sent);
				expect([kept.count, kept.bytes, kept.last]).toEqual([list.length, sum(list), last]);
				expect([kept.sentCount, kept.sentBytes]).toEqual([sent.length, sum(sent)]);
				expect(kept.first).toBe(list[0]?.seq ?? last + 1);
				for (const { seq } of list) expect(kept.ownerOf(seq)).toBe(`owner ${seq}`);
				expect([kept.ownerOf(kept.first - 1), kept.ownerOf(last + 1)]).toEqual([undefined, undefined]);
			}
		};
		fc.assert(fc.property(fc.array(command, { maxLength: 40 }), run), { numRuns: 100 });
	});
});
