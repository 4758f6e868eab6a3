import { createConnection, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

import { connect, type Diplomat } from '@spock/client';
import { createSidecar, type Sidecar } from '@spock/sidecar';
import { makeAuthority, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { FakeSource } from './fake-source.ts';
import { RawClient } from './raw-client.ts';

const STORM = 200;
const HELLO = `${JSON.stringify({ id: 1, func: 'hello', data: { versions: [1], features: ['push', 'goaway'] } })}\n`;
const secrets = makeAuthority().issue();

interface Running extends AsyncDisposable {
	readonly place: TempSocket;
	readonly port: number;
	readonly sidecar: Sidecar;
}

/** A sidecar at a path, and at a port with TLS. */
async function run(place: TempSocket): Promise<Running> {
	const source = new FakeSource();
	source.publish('barista', ['1.2.3.4']);
	const sidecar = createSidecar({
		source,
		listen: [{ address: { path: place.path } }, { address: { host: '127.0.0.1', port: 0 }, tls: { secrets } }],
		limits: { graceMs: 0, drainTimeoutMs: 10 },
	});
	const [, address] = await sidecar.start();
	return {
		place,
		port: Number(address?.split(':').at(-1)),
		sidecar,
		[Symbol.asyncDispose]: async () => {
			sidecar.terminate();
			sidecar.terminate();
			await sidecar.ended;
		},
	};
}

const WAYS: readonly (readonly [string, (running: Running) => Socket])[] = [
	['by the socket', ({ place }) => createConnection(place.path)],
	['by TLS', ({ port }) => connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })],
];

describe.each(WAYS)(`when ${STORM} clients come at once %s`, (_way, open) => {
	it('one that is connected is answered before half of them are greeted', async () => {
		await using place = await tempSocket();
		await using running = await run(place);
		await using early = await RawClient.open(place.path);
		await early.ask(1, 'ping');
		let greeted = 0;
		const sockets = Array.from({ length: STORM }, () => {
			const socket = open(running);
			socket.on('error', () => undefined);
			socket.once('data', () => {
				if (++greeted === 1) early.request(2, 'ping');
			});
			socket.write(HELLO);
			return socket;
		});
		expect(await early.next()).toMatchObject({ id: 2 });
		expect(greeted).toBeLessThan(STORM / 2);
		await waitFor('all of them', () => greeted === STORM);
		for (const socket of sockets) socket.destroy();
	});
});

describe('many clients', () => {
	it('are told how many they are, in hello and when they are asked to leave; few are not', async () => {
		await using place = await tempSocket();
		await using running = await run(place);
		const clients: RawClient[] = [];
		const replies: unknown[] = [];
		for (let number = 1; number <= 33; number++) {
			const client = await RawClient.open(place.path);
			clients.push(client);
			client.socket.write(HELLO);
			const reply = (await client.next()) as { readonly data: { readonly clients?: number } };
			replies.push(reply.data.clients);
		}
		expect(replies).toEqual([...Array<undefined>(31).fill(undefined), 32, 33]);
		running.sidecar.terminate();
		expect(await clients[0]?.next()).toMatchObject({ event: 'goaway', data: { reason: 'shutdown', clients: 33 } });
		for (const client of clients) await client[Symbol.asyncDispose]();
	});

	it('all come back to the sidecar that follows one that was killed, and no lookup fails meanwhile', async () => {
		await using place = await tempSocket();
		let running = await run(place);
		const clients: Diplomat[] = [];
		for (let number = 0; number < 100; number++) {
			const client = await connect({ path: place.path });
			clients.push(client);
			await client.getService('barista');
		}
		await running[Symbol.asyncDispose]();
		await waitFor('the loss', () => clients.every((client) => client.status().state !== 'ready'));
		const looked = clients.map((client) => client.getService('barista'));
		expect(await Promise.all(looked)).toHaveLength(100);
		running = await run(place);
		// One that is connected again has its answer a moment later; until then it says that what it has is the last known.
		await waitFor('their return, with live answers', async () => {
			const found = await Promise.all(clients.map((client) => client.getInstances('barista')));
			return found.every(({ source }) => source === 'live');
		});
		expect(clients.map((client) => client.status().state)).toEqual(Array(100).fill('ready'));
		await Promise.all(clients.map((client) => client.close()));
		await running[Symbol.asyncDispose]();
	});
});
