import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

import { AcceptedTokens, createSidecar, type LimitName, type SidecarLimits } from '@spock/sidecar';
import { makeAuthority, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { FakeSource } from './fake-source.ts';
import { RawClient } from './raw-client.ts';

const TOKEN = 'a-token-of-some-length';
const HELLO = `${JSON.stringify({ id: 1, func: 'hello', data: { versions: [1], token: TOKEN } })}\n`;

const secrets = makeAuthority().issue();

/** A sidecar at a path and at a port that wants a token, with TLS if asked. */
async function run(limits: SidecarLimits, isSecure = false) {
	const place = await tempSocket();
	const limited: LimitName[] = [];
	const sidecar = createSidecar({
		source: new FakeSource(),
		listen: [
			{ address: { path: place.path } },
			{
				address: { host: '127.0.0.1', port: 0 },
				tokens: new AcceptedTokens([TOKEN]),
				...(isSecure && { tls: { secrets } }),
			},
		],
		limits: { graceMs: 0, drainTimeoutMs: 10, ...limits },
		observer: { limited: (limit) => void limited.push(limit) },
	});
	const [, address] = await sidecar.start();
	const port = Number(address?.split(':').at(-1));
	const sockets: Socket[] = [];
	return {
		port,
		place,
		limited,
		sidecar,
		/** Somebody who comes by the network, and what they were told. */
		remote: async (said = '') => {
			const socket = connect(port, '127.0.0.1');
			sockets.push(socket);
			let heard = '';
			const state = { isClosed: false, heard: () => heard, socket };
			socket.on('data', (bytes) => {
				heard += bytes;
			});
			socket.on('error', () => undefined);
			socket.on('close', () => {
				state.isClosed = true;
			});
			await once(socket, 'connect');
			socket.write(said);
			return state;
		},
		[Symbol.asyncDispose]: async () => {
			for (const socket of sockets) socket.destroy();
			sidecar.terminate();
			sidecar.terminate();
			await sidecar.ended;
			await place[Symbol.asyncDispose]();
		},
	};
}

describe('strangers, who come by the network and show no token,', () => {
	it('use up none of the connections of those who may come', async () => {
		await using running = await run({ connectionsMax: 2, strangersMax: 3 });
		const strangers: { readonly isClosed: boolean }[] = [];
		for (let count = 0; count < 10; count++) strangers.push(await running.remote('{"id":1,"func":"he'));
		await waitFor('the oldest to make room', () => strangers.filter(({ isClosed }) => isClosed).length === 7);
		expect(strangers.map(({ isClosed }) => isClosed)).toEqual([...Array(7).fill(true), ...Array(3).fill(false)]);
		expect(running.limited.filter((limit) => limit === 'strangersMax')).toHaveLength(7);
		await using one = await RawClient.open(running.place.path);
		await using two = await RawClient.open(running.place.path);
		expect(await one.ask(1, 'ping')).toMatchObject({ id: 1 });
		expect(await two.ask(1, 'ping')).toMatchObject({ id: 1 });
	});

	it('keep nobody out who has a token; one who is let in counts as all do', async () => {
		await using running = await run({ connectionsMax: 1, strangersMax: 2 });
		for (let count = 0; count < 5; count++) await running.remote();
		const first = await running.remote(HELLO);
		await waitFor('the first one to be let in', () => first.heard().includes('"version":1'));
		for (let count = 0; count < 5; count++) await running.remote();
		const second = await running.remote(HELLO);
		await waitFor('the second one to hear why not', () => second.heard().includes('OVERLOADED'));
		expect(first.isClosed).toBe(false);
		first.socket.destroy();
		await waitFor('room', async () => {
			const next = await running.remote(HELLO);
			await waitFor('a word', () => next.heard() !== '' || next.isClosed);
			return next.heard().includes('"version":1');
		});
	});
});

it('a tenth of the connections is kept for those who come by the path', async () => {
	await using running = await run({ connectionsMax: 10, strangersMax: 20 });
	const remotes: { heard(): string }[] = [];
	for (let count = 0; count < 12; count++) remotes.push(await running.remote(HELLO));
	await waitFor('an answer for each', () => remotes.every(({ heard }) => heard() !== ''));
	expect(remotes.filter(({ heard }) => heard().includes('"version":1'))).toHaveLength(9);
	await using local = await RawClient.open(running.place.path);
	expect(await local.ask(1, 'ping')).toMatchObject({ id: 1 });
});

it('strangers of TLS have one budget, before the handshake and after it: who has a token is let in beside them', async () => {
	await using running = await run({ connectionsMax: 2, strangersMax: 3 }, true);
	const { port } = running;
	const secure = () => connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
	const shaken = Array.from({ length: 3 }, () => secure().on('error', () => undefined));
	await Promise.all(shaken.map((socket) => once(socket, 'secureConnect')));
	for (let count = 0; count < 3; count++) await running.remote();
	await waitFor('those that came first to make room', () => shaken.every(({ closed }) => closed));
	expect(running.limited).toEqual(Array(3).fill('strangersMax'));
	const client = secure();
	let heard = '';
	client.on('data', (bytes) => {
		heard += bytes;
	});
	client.on('error', () => undefined);
	client.write(HELLO);
	await waitFor('a word', () => heard !== '' || client.closed);
	expect(heard).toContain('"version":1');
	client.destroy();
});
