import { expect, it } from 'vitest';

import { ID_WINDOW_MS, IdWindow } from './id-window.ts';

it('an id is known for two minutes, per stream, by a time that never goes back', () => {
	let now = 1000;
	const ids = new IdWindow(() => now);
	expect(ids.find('orders', 'a')).toBeUndefined();
	ids.appended(7);
	expect(ids.find('orders', 'a')).toBe(7);
	expect(ids.find('clicks', 'a')).toBeUndefined();
	now += ID_WINDOW_MS;
	expect(ids.find('orders', 'a')).toBe(7);
	now -= 1_000_000;
	expect(ids.find('orders', 'a')).toBe(7);
	now += 1_000_001;
	expect(ids.find('orders', 'a')).toBeUndefined();
});

it('the first event of an id counts', () => {
	const ids = new IdWindow(() => 0);
	ids.replay('orders', 'a', 1, 0);
	ids.replay('orders', 'a', 2, 0);
	expect(ids.find('orders', 'a')).toBe(1);
});

it('with too many ids the oldest go, and are counted', () => {
	let now = 0;
	const ids = new IdWindow(() => now, 10);
	for (let position = 1; position <= 20; position++) ids.replay('orders', `id-${position}`, position, now);
	expect(ids.size).toBe(10);
	expect(ids.forgotten).toBe(10);
	expect(ids.find('orders', 'id-10')).toBeUndefined();
	expect(ids.find('orders', 'id-11')).toBe(11);
	now += ID_WINDOW_MS + 1;
	for (let position = 21; position <= 40; position++) ids.replay('orders', `id-${position}`, position, now);
	expect(ids.forgotten).toBe(20);
});
