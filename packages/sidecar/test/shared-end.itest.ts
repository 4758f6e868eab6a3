import { connect } from '@spock/client';
import { createLocalBackend, Registrations } from '@spock/discovery';
import { type CloseReason, createSidecar } from '@spock/sidecar';
import {
	FakeClock,
	type RunningProcess,
	SteadyCalls,
	startSidecar,
	TcpGate,
	TempServices,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';

import { FakeSource } from './fake-source.ts';
import { RawClient } from './raw-client.ts';

const HELLO = { versions: [1], features: ['goaway'] };

describe('the end of a sidecar that clients reach by TCP', () => {
	it('asks those to connect again once the grace is over, and serves all until it ends', async () => {
		await using place = await tempSocket();
		const clock = new FakeClock();
		const sidecar = createSidecar({
			source: new FakeSource(),
			listen: [{ address: { path: place.path } }, { address: { host: '127.0.0.1', port: 0 } }],
			limits: { graceMs: 1000, drainTimeoutMs: 5000 },
			clock,
		});
		const [, address = ''] = await sidecar.start();
		const port = Number(address.split(':').at(-1));
		const open = async (to: string | number, hello: object): Promise<RawClient> => {
			const client = await RawClient.open(to);
			onTestFinished(() => client[Symbol.asyncDispose]());
			expect(await client.ask(1, 'hello', hello)).toMatchObject({ data: { version: 1 } });
			return client;
		};
		const local = await open(place.path, HELLO);
		const remote = await open(port, HELLO);
		const plain = await open(port, { versions: [1] });
		sidecar.terminate();
		await clock.advance(999);
		// New connections may still lead here.
		expect(await remote.ask(2, 'ping', 2)).toEqual({ id: 2, data: 2 });
		await clock.advance(1);
		expect(await remote.next()).toEqual({ event: 'goaway', data: { reason: 'shutdown', graceMs: 4000 } });
		const late = await open(port, HELLO);
		remote.socket.end();
		for (const client of [local, plain, late]) expect(await client.ask(3, 'ping', 3)).toEqual({ id: 3, data: 3 });
		await clock.advance(4000);
		for (const client of [local, late]) {
			expect(await client.next()).toEqual({ event: 'goaway', data: { reason: 'shutdown', graceMs: 1000 } });
		}
		for (const client of [local, plain, late]) {
			expect(await client.next()).toBeUndefined();
			client.socket.end();
		}
		expect(await sidecar.ended).toBe(0);
	});
});

describe('an app that was asked to connect again', () => {
	/** A sidecar that ends and has asked the app, which has registered an instance and goes on sending heartbeats. */
	async function asked() {
		const clock = new FakeClock();
		const { registrar } = await createLocalBackend();
		if (registrar === undefined) throw new Error('expected a registrar');
		const reconnectGraceMs = 3_600_000;
		const registrations = new Registrations({ registrar, owner: 'me', clock, reconnectGraceMs });
		const reasons: CloseReason[] = [];
		const sidecar = createSidecar({
			source: new FakeSource(),
			registrations,
			listen: [{ address: { host: '127.0.0.1', port: 0 } }],
			limits: { graceMs: 0, drainTimeoutMs: 600_000 },
			observer: { connectionClosed: (_id, reason) => reasons.push(reason) },
			clock,
		});
		const [address = ''] = await sidecar.start();
		const open = () => RawClient.open(Number(address.split(':').at(-1)));
		// While there is another client, the sidecar waits.
		const [app, other] = [await open(), await open()];
		onTestFinished(async () => {
			sidecar.terminate();
			sidecar.terminate();
			await sidecar.ended;
			await Promise.all([app, other].map((client) => client[Symbol.asyncDispose]()));
		});
		await other.ask(1, 'hello', { versions: [1] });
		await app.ask(1, 'hello', { ...HELLO, heartbeatMs: 10_000 });
		await app.ask(2, 'registerService', { service: 'barista', id: 'b1', port: 80 });
		sidecar.terminate();
		await clock.advance(0);
		expect(await app.next()).toMatchObject({ event: 'goaway' });
		return { app, clock, registrations, ended: () => waitFor('its end', () => reasons[0]) };
	}

	it('and is silent instead is cut off, and its instance is critical', async () => {
		const { app, clock, registrations, ended } = await asked();
		app.socket.pause();
		await clock.advance(40_000);
		expect(await ended()).toBe('silent');
		expect(registrations.list()).toMatchObject([{ id: 'b1', phase: 'grace' }]);
	});

	it.each<[string, CloseReason, (app: RawClient) => void]>([
		['ends its connection', 'client', ({ socket }) => void socket.end()],
		['leaves by a reset, because it had not read everything', 'error', ({ socket }) => void socket.resetAndDestroy()],
	])('and %s leaves its instance to the other sidecar', async (_how, reason, leave) => {
		const { app, registrations, ended } = await asked();
		leave(app);
		expect(await ended()).toBe(reason);
		expect(registrations.list()).toEqual([]);
	});
});

describe('Spocks of a node, one after the other behind one address', () => {
	/** The Spock in place, what leads to it, and an app at work. */
	async function site() {
		const services = await TempServices.make();
		onTestFinished(() => services[Symbol.asyncDispose]());
		await services.set('barista', [{ host: '10.0.0.1', port: 80 }]);
		const place = await tempSocket();
		onTestFinished(() => place[Symbol.asyncDispose]());
		let started = 0;
		const start = async (at = 0): Promise<{ readonly process: RunningProcess; readonly port: number }> => {
			const settings = ['--backend', 'local', '--services', services.file, '--drain-timeout-ms', '5000'];
			const path = `${place.directory}/${++started}.sock`;
			const process = await startSidecar(path, ['--listen', `127.0.0.1:${at}`, '--log-format', 'json', ...settings]);
			onTestFinished(() => process[Symbol.asyncDispose]());
			const port = await waitFor('the port', () => /"127\.0\.0\.1:(\d+)"/.exec(process.stdout())?.[1]);
			return { process, port: Number(port) };
		};
		const first = await start();
		const service = await TcpGate.open(first.port);
		onTestFinished(() => service.shut());
		const app = await connect({ host: '127.0.0.1', port: Number(new URL(service.url).port) });
		onTestFinished(async () => void (await app.close()));
		await app.getInstances('barista');
		const lookups = new SteadyCalls(() => app.getInstances('barista'));
		onTestFinished(() => lookups.stop());
		/** Lookups that the client does not answer from what it was pushed. */
		const requests = new SteadyCalls(() => app.request('getService', { service: 'barista' }), {
			callers: 16,
			pauseMs: 0,
		});
		onTestFinished(() => requests.stop());
		return { start, first, service, app, lookups, requests };
	}

	it('hand their clients over before they end: no call fails, and no answer has an age', async () => {
		const { start, first, service, app, lookups, requests } = await site();
		const next = await start();
		service.leadTo(next.port);
		expect((await first.process.stop()).exitCode).toBe(0);
		expect(first.process.stdout()).toContain('asking clients to leave');
		// The app has left: no connection had to be closed.
		expect(first.process.stdout()).not.toContain('closing their connections');
		await app.ping();
		await lookups.stop();
		await requests.stop();
		expect([lookups.failed, requests.failed]).toEqual([[], []]);
		expect(lookups.calls.filter(({ value }) => value?.ageMs !== 0)).toEqual([]);
		expect(app.status()).toMatchObject({ state: 'ready', reconnects: 1 });
	});

	it('serve a client that finds no other until they end, and it is back with the next', async () => {
		const { start, first, app, lookups, requests } = await site();
		const stopped = first.process.stop();
		await waitFor('that it comes back', () => app.status().reconnects === 1);
		await app.ping();
		await requests.stop();
		expect(requests.failed).toEqual([]);
		const whileServed = lookups.calls.length;
		expect((await stopped).exitCode).toBe(0);
		await start(first.port);
		await waitFor('its return', () => app.status().reconnects === 2 && app.status().state === 'ready');
		await lookups.stop();
		expect(lookups.failed).toEqual([]);
		expect(lookups.calls.slice(0, whileServed).filter(({ value }) => value?.ageMs !== 0)).toEqual([]);
	});
});
