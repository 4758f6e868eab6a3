import { expect, it } from 'vitest';

import { UrgentQuestions } from './urgent-questions.ts';

const question = (name: string, dueAtMs = 0) => ({ name, dueAtMs });

function take(waiting: UrgentQuestions<ReturnType<typeof question>>, nowMs = 0): string | undefined {
	const next = waiting.next(nowMs);
	if (next !== undefined) waiting.took(next);
	return next?.name;
}

it('the newest and the oldest have a turn by turns, so that neither waits for all others', () => {
	const waiting = new UrgentQuestions<ReturnType<typeof question>>();
	for (let number = 0; number < 100; number++) waiting.add(question(`old-${number}`));
	expect([take(waiting), take(waiting)]).toEqual(['old-99', 'old-0']);
	waiting.add(question('new'));
	expect([take(waiting), take(waiting), take(waiting)]).toEqual(['new', 'old-1', 'old-98']);
});

it('one that is not due yet keeps nobody else from a turn', () => {
	const waiting = new UrgentQuestions<ReturnType<typeof question>>();
	waiting.add(question('due'));
	waiting.add(question('later', 100));
	expect(take(waiting)).toBe('due');
	expect(waiting.next(0)?.name).toBe('later');
});

it('what has left is passed over, and what waits already keeps its place', () => {
	const waiting = new UrgentQuestions<ReturnType<typeof question>>();
	const [one, two, three] = [question('one'), question('two'), question('three')];
	for (const each of [one, two, three, one]) waiting.add(each);
	waiting.delete(three);
	expect([take(waiting), take(waiting), take(waiting)]).toEqual(['two', 'one', undefined]);
	for (let time = 0; time < 1000; time++) {
		waiting.add(one);
		waiting.delete(one);
	}
	expect(waiting.next(0)).toBeUndefined();
	waiting.add(two);
	waiting.clear();
	expect(waiting.next(0)).toBeUndefined();
});
