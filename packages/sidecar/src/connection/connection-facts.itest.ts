import { once } from 'node:events';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';

import { makeAuthority, tempSocket } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { peerFactsOf } from './connection-facts.ts';

/** The facts of the first connection of a server, which is closed then. */
async function factsAt(server: Server, event: string, connect: () => Socket) {
	const accepted = once(server, event) as Promise<[Duplex]>;
	const client = connect();
	client.on('error', () => undefined);
	const [socket] = await accepted;
	const facts = peerFactsOf(socket);
	const isOfClient = facts.address === `127.0.0.1:${client.localPort}`;
	client.destroy();
	socket.destroy();
	server.close();
	return { ...facts, isOfClient };
}

async function listening(server: Server, at: object): Promise<number> {
	server.listen(at);
	await once(server, 'listening');
	const address = server.address();
	return typeof address === 'object' && address !== null ? address.port : 0;
}

describe('the other end of a connection', () => {
	it('has no address at a unix socket', async () => {
		await using place = await tempSocket();
		const server = createServer();
		await listening(server, { path: place.path });
		const facts = await factsAt(server, 'connection', () => createConnection(place.path));
		expect(facts).toMatchObject({ transport: 'unix', address: null, certificate: null });
	});

	it('has an address over TCP', async () => {
		const server = createServer();
		const port = await listening(server, { port: 0, host: '127.0.0.1' });
		const facts = await factsAt(server, 'connection', () => createConnection(port, '127.0.0.1'));
		expect(facts).toMatchObject({ transport: 'tcp', isOfClient: true, certificate: null });
	});

	it.each([true, false])('over TLS is named by its certificate if that is trusted (%s)', async (isTrusted) => {
		const [authority, stranger] = [makeAuthority(), makeAuthority('a stranger')];
		const asked = { requestCert: true, rejectUnauthorized: false, ca: authority.ca };
		const server = createTlsServer({ ...authority.issue(), ...asked });
		const port = await listening(server, { port: 0, host: '127.0.0.1' });
		const own = (isTrusted ? authority : stranger).issue({ names: ['orders-api.example'] });
		const connect = (): Socket => connectTls({ port, host: '127.0.0.1', ca: authority.ca, ...own });
		const certificate = isTrusted ? 'orders-api.example' : null;
		expect(await factsAt(server, 'secureConnection', connect)).toMatchObject({
			...{ transport: 'tls', isOfClient: true, certificate },
		});
	});
});
