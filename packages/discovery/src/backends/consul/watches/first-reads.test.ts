import { expect, it } from 'vitest';

import { FirstReads } from './first-reads.ts';

function take(waiting: FirstReads<string>): string | undefined {
	const next = waiting.next();
	if (next !== undefined) waiting.took(next);
	return next;
}

it('the newest and the oldest have a turn by turns, so that neither waits for all others', () => {
	const waiting = new FirstReads<string>();
	for (let number = 0; number < 100; number++) waiting.add(`old-${number}`);
	expect([take(waiting), take(waiting)]).toEqual(['old-99', 'old-0']);
	waiting.add('new');
	expect([take(waiting), take(waiting), take(waiting)]).toEqual(['new', 'old-1', 'old-98']);
});

it('what has left is passed over, and what waits already keeps its position', () => {
	const waiting = new FirstReads<string>();
	for (const each of ['one', 'two', 'three', 'one']) waiting.add(each);
	waiting.delete('three');
	expect([take(waiting), take(waiting), take(waiting)]).toEqual(['two', 'one', undefined]);
	for (let time = 0; time < 1000; time++) {
		waiting.add('one');
		waiting.delete('one');
	}
	expect(waiting.next()).toBeUndefined();
	waiting.add('two');
	waiting.clear();
	expect(waiting.next()).toBeUndefined();
});
