import { describe, expect, it } from 'vitest';

import { ReadScheduler } from './read-gate.ts';

function scripted() {
	const deferred: (() => void)[] = [];
	let nowMs = 0;
	const turns = new ReadScheduler((callback) => deferred.push(callback), { now: () => nowMs });
	const order: string[] = [];
	const taker = (name: string, turnsWanted: number) => {
		let left = turnsWanted;
		const self = {
			takeTurn: () => {
				order.push(name);
				nowMs += 5;
				if (--left > 0) turns.schedule(self);
			},
		};
		return self;
	};
	/** One turn of the event loop. */
	const loop = (): void => {
		for (const callback of deferred.splice(0)) callback();
	};
	/** What else is done meanwhile. */
	const work = (ms: number): void => {
		nowMs += ms;
	};
	return { turns, order, taker, loop, deferred, work };
}

describe('turns', () => {
	it('go round, one for each turn of the event loop, and end with the last who wants one', () => {
		const { turns, order, taker, loop, deferred } = scripted();
		turns.schedule(taker('a', 3));
		turns.schedule(taker('b', 2));
		turns.schedule(taker('c', 1));
		expect(deferred).toHaveLength(1);
		for (let round = 1; round <= 6; round++) {
			loop();
			expect(order).toHaveLength(round);
		}
		expect(order.join('')).toBe('abcaba');
		expect(deferred).toHaveLength(0);
	});

	it('take as long as everything else, so that no client waits for as many busy iterations as there are clients', () => {
		const { turns, order, taker, loop, work } = scripted();
		for (const name of ['a', 'b', 'c', 'd']) turns.schedule(taker(name, 2));
		work(15);
		loop();
		expect(order.join('')).toBe('abc');
		work(100);
		loop();
		expect(order.join('')).toBe('abcdabc');
		work(9);
		loop();
		expect(order.join('')).toBe('abcdabcd');
	});

	it('nobody gets one who has left', () => {
		const { turns, order, taker, loop } = scripted();
		const gone = taker('gone', 1);
		turns.schedule(gone);
		turns.schedule(taker('b', 1));
		turns.cancel(gone);
		loop();
		loop();
		expect(order).toEqual(['b']);
	});
});
