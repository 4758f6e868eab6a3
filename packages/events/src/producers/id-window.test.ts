import { expect, it } from 'vitest';

import { ID_WINDOW_MS, IdWindow } from './id-window.ts';

/** A machine whose clock was set `wall` milliseconds ahead of its monotonic one. */
function clockAt(now: number, wall = 1_700_000_000_000) {
	const made = { time: now, wall, now: () => made.time, wallNow: () => made.time + made.wall };
	return made;
}
let clock = clockAt(0);

it('an id is known for two minutes, per stream', () => {
	clock = clockAt(1000);
	const ids = new IdWindow(clock);
	expect(ids.find('orders', 'a')).toBeUndefined();
	ids.appended(7);
	expect(ids.find('orders', 'a')).toBe(7);
	expect(ids.find('clicks', 'a')).toBeUndefined();
	clock.time += ID_WINDOW_MS;
	expect(ids.find('orders', 'a')).toBe(7);
	clock.time++;
	expect(ids.find('orders', 'a')).toBeUndefined();
});

it.each([-3_600_000, 3_600_000])('a clock that is set by %i ms changes nothing of that', (change) => {
	clock = clockAt(1000);
	const ids = new IdWindow(clock);
	ids.find('orders', 'a');
	ids.appended(7);
	clock.wall += change;
	expect(ids.find('orders', 'a')).toBe(7);
	clock.time += ID_WINDOW_MS + 1;
	expect(ids.find('orders', 'a')).toBeUndefined();
});

it('what was found on disk is as old as its time says, and never from the future', () => {
	clock = clockAt(1000);
	const ids = new IdWindow(clock);
	ids.replay('orders', 'old', 1, clock.wallNow() - ID_WINDOW_MS);
	ids.replay('orders', 'later', 2, clock.wallNow() + 3_600_000);
	expect(ids.find('orders', 'old')).toBe(1);
	clock.time++;
	expect(ids.find('orders', 'old')).toBeUndefined();
	clock.time += ID_WINDOW_MS - 1;
	expect(ids.find('orders', 'later')).toBe(2);
	clock.time++;
	expect(ids.find('orders', 'later')).toBeUndefined();
});

it('the first event of an id counts', () => {
	const ids = new IdWindow(clockAt(0, 0));
	ids.replay('orders', 'a', 1, 0);
	ids.replay('orders', 'a', 2, 0);
	expect(ids.find('orders', 'a')).toBe(1);
});

it('with too many ids the oldest go, and are counted', () => {
	clock = clockAt(0);
	const ids = new IdWindow(clock, 10);
	for (let position = 1; position <= 20; position++) ids.replay('orders', `id-${position}`, position, clock.wallNow());
	expect(ids.size).toBe(10);
	expect(ids.forgotten).toBe(10);
	expect(ids.find('orders', 'id-10')).toBeUndefined();
	expect(ids.find('orders', 'id-11')).toBe(11);
	clock.time += ID_WINDOW_MS + 1;
	for (let position = 21; position <= 40; position++) ids.replay('orders', `id-${position}`, position, clock.wallNow());
	expect(ids.forgotten).toBe(20);
});
