import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

import { waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { SidecarConnection } from './sidecar-connection.ts';

it('knows all that its peer has not taken, however it is written', async () => {
	const sockets: Socket[] = [];
	// A peer that reads nothing until it is resumed.
	const server = createServer({ pauseOnConnect: true }, (socket) => sockets.push(socket)).listen(0, '127.0.0.1');
	await once(server, 'listening');
	const { port } = server.address() as AddressInfo;
	let drained = 0;
	const connection = await SidecarConnection.open(
		{ host: '127.0.0.1', port },
		{
			client: 'test',
			timeoutMs: 60_000,
			features: [],
			pushed: () => undefined,
			drained: () => drained++,
			lost: () => undefined,
		},
	);
	const lines = `${'x'.repeat(1023)}\n`.repeat(4096);
	const WRITES = 8;
	for (let index = 0; index < WRITES; index++) connection.write(lines);
	// The kernel has the rest.
	expect(connection.backlogBytes).toBeGreaterThan((WRITES * lines.length) / 2);
	const [peer] = await waitFor('the connection', () => sockets.length > 0 && sockets);
	peer?.resume();
	await waitFor('an empty backlog', () => connection.backlogBytes === 0 && drained > 0);
	connection.destroy();
	peer?.destroy();
	server.close();
});
