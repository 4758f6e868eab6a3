import { describe, expect, it } from 'vitest';

import { Turns } from './turns.ts';

function scripted() {
	const deferred: (() => void)[] = [];
	const turns = new Turns((callback) => deferred.push(callback));
	const order: string[] = [];
	const taker = (name: string, turnsWanted: number) => {
		let left = turnsWanted;
		const self = {
			takeTurn: () => {
				order.push(name);
				if (--left > 0) turns.wait(self);
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
		turns.wait(taker('a', 3));
		turns.wait(taker('b', 2));
		turns.wait(taker('c', 1));
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
		turns.wait(gone);
		turns.wait(taker('b', 1));
		turns.leave(gone);
		loop();
		loop();
		expect(order).toEqual(['b']);
	});
});
