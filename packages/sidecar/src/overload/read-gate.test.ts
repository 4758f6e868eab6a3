import { describe, expect, it } from 'vitest';

import { ReadScheduler } from './read-gate.ts';

function scripted() {
	const deferred: (() => void)[] = [];
	const turns = new ReadScheduler((callback) => deferred.push(callback));
	const order: string[] = [];
	const taker = (name: string, turnsWanted: number) => {
		let left = turnsWanted;
		const self = {
			takeTurn: () => {
				order.push(name);
				if (--left > 0) turns.schedule(self);
			},
		};
		return self;
	};
	/** One turn of the event loop. */
	const loop = (): void => {
		for (const callback of deferred.splice(0)) callback();
	};
	return { turns, order, taker, loop, deferred };
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
