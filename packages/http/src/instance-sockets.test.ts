import { PassThrough } from 'node:stream';

import { expect, it } from 'vitest';

import { InstanceSockets } from './instance-sockets.ts';

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
