import { PassThrough } from 'node:stream';

import { expect, it } from 'vitest';

import { InstanceSockets, idleTimeMs } from './instance-sockets.ts';

it('a connection that changes hands again and again is listened to once, by whoever has it', () => {
	const socket = new PassThrough();
	const before = socket.listenerCount('close');
	const unused: InstanceSockets[] = [];
	const one = new InstanceSockets((self) => unused.push(self));
	const other = new InstanceSockets((self) => unused.push(self));
	for (let turn = 0; turn < 15; turn++) {
		one.use(socket);
		one.forget(socket);
		other.use(socket);
		if (turn < 14) other.forget(socket);
	}
	expect(socket.listenerCount('close') - before).toBe(1);
	unused.length = 0;
	socket.emit('close');
	expect(unused).toEqual([other]);
	socket.destroy();
});

it.each([
	['no header: the limit', undefined, 4000],
	['a time below the limit, less the buffer', 'timeout=3', 2000],
	['a time beyond the limit', 'timeout=60', 4000],
	['among other members', 'max=100, timeout=2', 1000],
	['what is not understood', 'for ever', 4000],
	['a time within the buffer: not at all', 'timeout=1', 0],
])('an idle connection is kept: %s', (_what, header, expected) => {
	expect(idleTimeMs(4000, header, 1000)).toBe(expected);
});
