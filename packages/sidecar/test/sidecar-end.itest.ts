import { once } from 'node:events';
import { createSidecar } from '@spock/sidecar';
import { FakeClock, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { FakeSource } from './fake-source.ts';
import { RawClient } from './raw-client.ts';
import { run } from './running-sidecar.ts';

describe('the end', () => {
	it('clients that said hello with goaway are told; each request in flight is answered first', async () => {
		await using running = await run({ drainTimeoutMs: 50 });
		await using client = await running.open();
		await client.ask(1, 'hello', { versions: [1], features: ['goaway'] });
		client.request(2, 'getService', { service: 'slow' });
		await waitFor('the request', () => running.sidecar.gauges().inFlight === 1);
		running.sidecar.terminate();
		expect(await client.next()).toMatchObject({ event: 'goaway', data: { reason: 'shutdown' } });
		running.source.publish('slow', ['5.6.7.8']);
		expect(await client.next()).toMatchObject({ id: 2, data: { host: '5.6.7.8' } });
		expect(await client.next()).toBeUndefined();
		client.socket.end();
		expect(await running.sidecar.ended).toBe(0);
		expect(running.source.isClosed).toBe(true);
	});

	it('a request that its client cancels is waited for no longer', async () => {
		const clock = new FakeClock();
		await using running = await run({ drainTimeoutMs: 5000, graceMs: 0 }, clock);
		await using client = await running.open();
		await client.ask(1, 'ping');
		client.request(2, 'getService', { service: 'slow' });
		await waitFor('the request', () => running.sidecar.gauges().inFlight === 1);
		running.sidecar.terminate();
		await clock.advance(5000);
		await waitFor('the end of the connection to begin', () => running.sidecar.status().phase === 'stopping');
		client.send({ func: 'cancel', data: { id: 2 } });
		expect(await client.next()).toBeUndefined();
		client.socket.end();
		expect(await running.sidecar.ended).toBe(0);
	});

	it('a plain client is told nothing: it never said hello', async () => {
		await using running = await run({ drainTimeoutMs: 50 });
		await using client = await running.open();
		await client.ask(1, 'ping');
		running.sidecar.terminate();
		expect(await client.next()).toBeUndefined();
		client.socket.end();
		expect(await running.sidecar.ended).toBe(0);
	});

	it('names the clients that have not left, when it waits for them and when it cuts them off', async () => {
		await using running = await run({ drainTimeoutMs: 50 });
		await using client = await running.open();
		await client.ask(1, 'hello', { versions: [1], client: 'payments', pid: 41 });
		running.sidecar.terminate();
		expect(await client.next()).toBeUndefined();
		client.socket.end();
		await running.sidecar.ended;
		const named = { clients: [{ connection: 1, client: 'payments', pid: 41 }], count: 1 };
		expect(running.notLeft).toEqual([
			{ ...named, how: 'waited for' },
			{ ...named, how: 'cut off' },
		]);
	});

	it('names ten of many', async () => {
		await using running = await run({ drainTimeoutMs: 50 });
		const clients = await Promise.all(Array.from({ length: 11 }, () => running.open()));
		for (const client of clients) await client.ask(1, 'ping');
		expect(running.sidecar.status().clients).toHaveLength(11);
		running.sidecar.terminate();
		await running.sidecar.ended;
		expect(running.notLeft[0]).toMatchObject({ clients: { length: 10 }, count: 11 });
	});

	it('while it waits for its clients it serves, accepts new ones, and says that it is not ready', async () => {
		await using running = await run();
		const client = await running.open();
		await client.ask(1, 'ping');
		expect(running.sidecar.readiness()).toMatchObject({ ready: true, reasons: [] });
		running.sidecar.terminate();
		await waitFor('the wait', () => running.sidecar.status().phase === 'waiting for clients');
		expect(running.sidecar.readiness().ready).toBe(false);
		await using late = await running.open();
		expect(await late.ask(1, 'getService', { service: 'barista' })).toMatchObject({ data: { host: '1.2.3.4' } });
		client.socket.destroy();
		late.socket.destroy();
		expect(await running.sidecar.ended).toBe(0);
	});

	it('is not ready before its registry has answered once, and stays ready when it is away later', async () => {
		const place = await tempSocket();
		const source = new FakeSource();
		source.failure = new Error('refused');
		const sidecar = createSidecar({ source, listen: [{ address: { path: place.path } }], limits: { graceMs: 0 } });
		await sidecar.start();
		expect(sidecar.readiness()).toMatchObject({
			ready: false,
			reasons: [expect.stringContaining('cannot be read yet: refused')],
		});
		source.failure = undefined;
		await waitFor('the answer', () => sidecar.readiness().ready);
		source.failure = new Error('refused');
		expect(sidecar.readiness().ready).toBe(true);
		sidecar.terminate();
		expect(await sidecar.ended).toBe(0);
		await place[Symbol.asyncDispose]();
	});

	it('a request to end that comes while it binds is kept', async () => {
		await using place = await tempSocket();
		const sidecar = createSidecar({ source: new FakeSource(), listen: [{ address: { path: place.path } }] });
		const started = sidecar.start();
		sidecar.terminate();
		await started;
		expect(await sidecar.ended).toBe(0);
		await expect(RawClient.open(place.path)).rejects.toThrow('ENOENT');
	});

	it('an address that cannot be bound rejects the start, and leaves nothing bound', async () => {
		await using running = await run();
		await using place = await tempSocket();
		const sidecar = createSidecar({
			source: new FakeSource(),
			listen: [{ address: { path: place.path } }, { address: { path: running.place.path } }],
		});
		await expect(sidecar.start()).rejects.toThrow('a process already listens at');
		expect(await sidecar.ended).toBe(1);
		await expect(RawClient.open(place.path)).rejects.toThrow();
	});
});

it('a socket that is closed by the client while the sidecar still writes to it is no fault of anybody', async () => {
	await using running = await run();
	const client = await running.open();
	for (let id = 1; id <= 100; id++) client.request(id, 'ping', 'x'.repeat(10_000));
	client.socket.destroy();
	await once(client.socket, 'close');
	await waitFor('the end', () => running.sidecar.gauges().connections === 0);
	await using other = await running.open();
	expect(await other.ask(1, 'ping', 1)).toEqual({ id: 1, data: 1 });
});
