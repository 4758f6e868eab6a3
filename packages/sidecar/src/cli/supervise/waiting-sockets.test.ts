import { Socket } from 'node:net';

import { FakeClock } from '@spock/testkit';
import { expect, it } from 'vitest';

import { WaitingSockets } from './waiting-sockets.ts';

it('drops what is over 4096 and tells how many, not for each', async () => {
	const clock = new FakeClock();
	const told: number[] = [];
	const sockets = new WaitingSockets(clock, (count) => told.push(count));
	const add = (): Socket => {
		const socket = new Socket();
		sockets.add({ socket, listener: 0 });
		return socket;
	};
	const waiting = Array.from({ length: 4096 }, add);
	expect([waiting.some(({ destroyed }) => destroyed), told]).toEqual([false, []]);
	expect([add().destroyed, add().destroyed, told]).toEqual([true, true, [1]]);
	await clock.advance(10_000);
	add();
	add();
	expect(told).toEqual([1, 3]);
	sockets.destroy();
});
