import { describe, expect, it } from 'vitest';

import { NewestOnly } from './newest-only.ts';

function counted(open: (iterator: NewestOnly<number>) => void = () => undefined) {
	const counts = { opened: 0, released: 0 };
	const iterator = new NewestOnly<number>(
		() => {
			counts.opened++;
			open(iterator);
		},
		() => {
			counts.released++;
		},
	);
	return { iterator, counts };
}

describe('an iterator that holds the newest value', () => {
	it('that is ended before its first next opens nothing', async () => {
		const { iterator, counts } = counted();
		expect(await iterator.return()).toEqual({ value: undefined, done: true });
		expect(await iterator.next()).toEqual({ value: undefined, done: true });
		expect(counts).toEqual({ opened: 0, released: 0 });
	});

	it('is ended once, and takes nothing after it', async () => {
		const { iterator, counts } = counted();
		const waiting = [iterator.next(), iterator.next()];
		iterator.end();
		iterator.end(new Error('too late'));
		iterator.put(5);
		expect(await Promise.all([...waiting, iterator.next()])).toMatchObject([
			{ done: true },
			{ done: true },
			{ done: true },
		]);
		expect(counts).toEqual({ opened: 1, released: 1 });
	});

	it('an error is for one next, those behind it are done', async () => {
		const { iterator } = counted((own) => own.end(new Error('denied')));
		const [first, second] = [iterator.next(), iterator.next()];
		await expect(first).rejects.toThrow('denied');
		expect(await second).toMatchObject({ done: true });
	});

	it('values go to who waits in turn, and the newest is kept for who comes later', async () => {
		const { iterator } = counted();
		const [first, second] = [iterator.next(), iterator.next()];
		for (const value of [1, 2, 3, 4]) iterator.put(value);
		expect(await Promise.all([first, second, iterator.next()])).toMatchObject([
			{ value: 1 },
			{ value: 2 },
			{ value: 4 },
		]);
	});
});
