import { BackendSource, createLocalBackend } from '@spock/discovery';
import { AcceptedTokens, createSidecar } from '@spock/sidecar';
import { tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';

import { RawClient } from './raw-client.ts';
import { run } from './running-sidecar.ts';
import { sharedSidecar, upstreamOf } from './upstream-fixture.ts';

type Hello = Readonly<Record<string, unknown>>;

const secret = (name: string): Hello => ({ secret: `the secret of ${name}` });

/** A sidecar with room for 8 queries, at a socket and at a port. */
async function open(apps?: readonly string[]) {
	const place = await tempSocket();
	const source = new BackendSource({ backend: await createLocalBackend(), entriesMax: 8, firstAnswerMs: 100 });
	const tokens = apps && new AcceptedTokens(apps.map((app) => `${app}: the-long-token-of-${app}`));
	const sidecar = createSidecar({
		source,
		listen: [
			{ address: { path: place.path }, ...(tokens && { tokens }) },
			{ address: { host: '127.0.0.1', port: 0 }, ...(tokens && { tokens }) },
		],
		limits: { graceMs: 0 },
	});
	const [, address = ''] = await sidecar.start();
	onTestFinished(async () => {
		sidecar.terminate();
		sidecar.terminate();
		await sidecar.ended;
		await place[Symbol.asyncDispose]();
	});
	return { socket: place.path, port: Number(address.split(':').at(-1)) };
}

async function connect(to: string | number, hello: Hello): Promise<RawClient> {
	const client = await RawClient.open(to);
	onTestFinished(() => client[Symbol.asyncDispose]());
	expect(await client.ask(1, 'hello', { versions: [1], ...hello })).toMatchObject({ data: { version: 1 } });
	return client;
}

/** What became of watching so many services, in order. */
async function watch(client: RawClient, first: number, count: number): Promise<unknown[]> {
	const codes: unknown[] = [];
	for (let number = first; number < first + count; number++) {
		codes.push((await client.ask(2, 'watchService', { service: `s${number}` }))?.error?.['code'] ?? 'watched');
	}
	return codes;
}

describe('the connections of one client have one share, and another client has its own', () => {
	it.each([
		['by their secret at a socket', 'socket', secret('one'), secret('one'), secret('other')],
		['that say nothing of themselves', 'socket', {}, {}, secret('other')],
		[
			'of one app by its token',
			'socket',
			{ token: 'the-long-token-of-a' },
			{ token: 'the-long-token-of-a' },
			{ token: 'the-long-token-of-b' },
		],
	] as const)('%s', async (_name, to, first, second, other) => {
		const site = await open('token' in other ? ['a', 'b'] : undefined);
		expect(await watch(await connect(site[to], first), 0, 2)).toEqual(['watched', 'watched']);
		expect(await watch(await connect(site[to], second), 2, 4)).toEqual([
			'watched',
			'watched',
			'OVERLOADED',
			'OVERLOADED',
		]);
		expect(await watch(await connect(site[to], other), 6, 2)).toEqual(['watched', 'watched']);
	});

	it('by their address over TCP, whatever they say', async () => {
		const { port, socket } = await open();
		expect(await watch(await connect(port, secret('one')), 0, 3)).toEqual(['watched', 'watched', 'watched']);
		expect(await watch(await connect(port, secret('other')), 3, 2)).toEqual(['watched', 'OVERLOADED']);
		expect(await watch(await connect(socket, secret('one')), 4, 1)).toEqual(['watched']);
	});
});

describe('bytes that all clients hold together', () => {
	const long = (bytes: number) => ({ service: 'slow', tags: Array.from({ length: 4 }, () => 'x'.repeat(bytes / 4)) });

	it('of waiting requests: a client at its share is OVERLOADED, others are not, and what is short still waits', async () => {
		await using running = await run({ inFlightBytesMax: 65_536 });
		const one = await connect(running.place.path, secret('one'));
		const other = await connect(running.place.path, secret('other'));
		const name = (id: number) => ({ ...long(2000), meta: { a: String(id) } });
		for (let id = 2; id < 20; id++) one.request(id, 'getInstances', name(id));
		const refused = { error: { code: 'OVERLOADED', details: { inFlightBytesMax: 65_536 } } };
		for (let id = 17; id < 20; id++) expect(await one.next()).toMatchObject({ id, ...refused });
		one.request(20, 'getInstances', { service: 'slow' });
		other.request(2, 'getInstances', name(2));
		one.send({ func: 'cancel', data: { id: 2 } });
		one.request(2, 'getInstances', name(2));
		expect(await one.ask(21, 'ping', 1)).toEqual({ id: 21, data: 1 });
		expect(await other.ask(3, 'ping', 1)).toEqual({ id: 3, data: 1 });
		expect(await one.ask(22, 'getInstances', name(22))).toMatchObject({ id: 22, ...refused });
		expect(running.limited.filter((limit) => limit === 'inFlightBytesMax')).toHaveLength(4);
		for (let id = 2; id < 17; id++) one.send({ func: 'cancel', data: { id } });
		for (let id = 30; id < 45; id++) one.request(id, 'getInstances', name(id));
		expect(await one.ask(45, 'getInstances', name(45))).toMatchObject({ id: 45, ...refused });
	});

	it('of frames that have not come whole: one with a long one is closed at its share, others go on', async () => {
		await using running = await run({ partialBytesMax: 400_000 });
		const clients = [];
		for (const _ of [1, 2]) clients.push(await connect(running.place.path, secret('one')));
		const [first, second] = clients;
		const other = await connect(running.place.path, secret('other'));
		const begin = `{"id":2,"func":"ping","data":"${'x'.repeat(150_000)}`;
		first?.socket.write(begin);
		other.socket.write(begin);
		await waitFor(
			'both',
			() => running.sidecar.connections().filter(({ bytesRead }) => bytesRead > 150_000).length === 2,
		);
		second?.socket.write(begin);
		expect(await second?.next()).toBeUndefined();
		await waitFor('the end', () => running.reasons.length > 0);
		expect(running.reasons).toEqual(['partial-frame']);
		expect(running.limited).toContain('partialBytesMax');
		for (const client of [first, other]) {
			client?.socket.write('"}\n');
			expect(await client?.next()).toMatchObject({ id: 2 });
			client?.socket.write(begin);
			client?.socket.write('"}\n');
			expect(await client?.next()).toMatchObject({ id: 2 });
		}
	});
});

it('a sidecar takes no more from its clients than the one that it asks has room for, and none of them all of that', async () => {
	await using shared = await sharedSidecar({ backend: await createLocalBackend() });
	const backend = upstreamOf([shared]);
	const source = new BackendSource({ backend, firstAnswerMs: 30_000 });
	const asked = (number: number, asker: string) => source.get({ service: `s${number}` }, { asker });
	await asked(0, 'one');
	const watches = Array.from({ length: 2047 }, (_, number) =>
		source.watch({ service: `s${number + 1}` }, { next: () => undefined }, { asker: 'one' }),
	);
	watches.push(source.watch({ service: 's0' }, { next: () => undefined }, { asker: 'one' }));
	expect(() => source.watch({ service: 'more' }, { next: () => undefined }, { asker: 'one' })).toThrow(
		expect.objectContaining({ code: 'OVERLOADED', details: { entriesPerClientMax: 2048 } }),
	);
	expect((await asked(5000, 'other')).instances).toEqual([]);
	for (const one of watches) one.stop();
	await source.close();
});
