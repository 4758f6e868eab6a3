import { once } from 'node:events';
import { createServer } from 'node:net';

import { expect, it } from 'vitest';

import { bind } from './bind.ts';

it('a server that listens outlives every error, and tells each', async () => {
	const told: Error[] = [];
	const server = createServer();
	await bind(server, { host: '127.0.0.1', port: 0 }, (error) => told.push(error));
	const errors = ['ENFILE', 'ENOBUFS', 'ENFILE'].map((code) => Object.assign(new Error(code), { code }));
	for (const error of errors) server.emit('error', error);
	expect(told).toEqual(errors);
	expect(server.listening).toBe(true);
	server.close();
	await once(server, 'close');
});

it('a server that cannot listen tells nobody but its caller, and has no listener left', async () => {
	await using taken = createServer().listen(0, '127.0.0.1');
	await once(taken, 'listening');
	const { port } = taken.address() as { readonly port: number };
	const told: Error[] = [];
	const server = createServer();
	const where = { host: '127.0.0.1', port };
	for (let attempt = 0; attempt < 20; attempt++) {
		await expect(bind(server, where, (error) => told.push(error))).rejects.toThrow('another process listens there');
	}
	expect([server.listenerCount('error'), server.listenerCount('listening'), told]).toEqual([0, 0, []]);
});
