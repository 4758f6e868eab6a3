import { FakeClock } from '@spock/testkit';
import { expect, it } from 'vitest';

import { HeldRoom } from './held-room.ts';

const placesIn = (room: HeldRoom): number => {
	let places = 0;
	while (room.take(0) !== undefined && places < 500) places++;
	return places;
};

it('an address that takes many calls on one connection has room for all, unless a limit was given', () => {
	const [free, given] = [new HeldRoom(new FakeClock(), 1, undefined), new HeldRoom(new FakeClock(), 1, 4)];
	for (const room of [free, given]) room.multiplexed(0);
	expect([placesIn(free), placesIn(given)]).toEqual([500, 4]);
});

it('a limit that was given is not raised by what an agent allows, and one that was not is', () => {
	const room = new HeldRoom(new FakeClock(), 1, undefined);
	expect(placesIn(room)).toBe(150);
	expect(room.allowed(0, 248)).toBe(true);
	expect(placesIn(room)).toBe(50);
	room.narrowed(0);
	expect(room.take(0)).toBeUndefined();
});

it('an address that is away is not full, and one that is well is once its places are taken', () => {
	const clock = new FakeClock();
	const room = new HeldRoom(clock, 1, 1);
	const full = [room.isFull];
	room.take(0);
	full.push(room.isFull);
	room.failed(0);
	full.push(room.isFull);
	expect(full).toEqual([false, true, false]);
});

it('keys that use the places of an address make it used up, as services do', () => {
	const room = new HeldRoom(new FakeClock(), 1, undefined);
	room.answered(0);
	while (room.enter(0));
	expect(room.isUsedUp(0)).toBe(true);
});
