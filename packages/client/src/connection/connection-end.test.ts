import type { Duplex } from 'node:stream';

import { FakeSidecar, HOLD_PING, memoryPair, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';

describe('the end', () => {
	it('drain refuses new calls, waits for those in flight, and leaves no timer and no socket', async () => {
		const { diplomat, sidecar, clock } = await simulate({}, HOLD_PING);
		const call = diplomat.request('ping', 1);
		await settle();
		const drained = diplomat.drain();
		expect(diplomat.status().state).toBe('draining');
		await expect(diplomat.request('ping', 2)).rejects.toMatchObject({
			code: 'CLOSED',
			message: 'the client is draining',
		});
		await expect(diplomat.getService('barista')).rejects.toMatchObject({ code: 'CLOSED' });
		sidecar.connection.reply(sidecar.requestsOf('ping')[0]?.id ?? -1, 'done');
		expect(await call).toBe('done');
		await drained;
		await diplomat.drain();
		await diplomat.close();
		expect(await diplomat.closed).toEqual({ reason: 'drain' });
		await settle();
		expect(clock.pendingTimers).toBe(0);
		expect(sidecar.liveCount).toBe(0);
	});

	it('a drain is over at the deadline of its last call at the latest', async () => {
		const { diplomat, clock } = await simulate({}, HOLD_PING);
		const call = expect(diplomat.request('ping', 1, { timeoutMs: 500 })).rejects.toMatchObject({ code: 'TIMEOUT' });
		await settle();
		const drained = diplomat.drain();
		await clock.advance(500);
		await Promise.all([call, drained]);
		expect(clock.pendingTimers).toBe(0);
	});

	it('a drain whose connection is lost ends, and its calls with it', async () => {
		const { diplomat, sidecar, clock } = await simulate({}, HOLD_PING);
		const call = expect(diplomat.request('ping', 1)).rejects.toMatchObject({
			code: expect.stringMatching(/CLOSED|DISCONNECTED/),
		});
		await settle();
		const drained = diplomat.drain();
		sidecar.connection.drop();
		await Promise.all([call, drained]);
		expect(clock.pendingTimers).toBe(0);
	});

	it.each(['ENOENT', undefined])(
		'close rejects every call with CLOSED and leaves no timer (attempts: %s)',
		async (failsWith) => {
			const { diplomat, sidecar, clock } = await simulate({}, HOLD_PING, failsWith);
			const message = 'the client was closed';
			const call = expect(diplomat.request('ping', 1)).rejects.toMatchObject({ code: 'CLOSED', message });
			const ready = diplomat.ready().catch(() => undefined);
			const lookup = diplomat.getService('barista').catch((error: unknown) => error);
			await diplomat.close();
			await Promise.all([call, ready, lookup]);
			await settle();
			expect(await diplomat.closed).toEqual({ reason: 'close' });
			expect(clock.pendingTimers).toBe(0);
			expect(sidecar.liveCount).toBe(0);
			await expect(diplomat.ready()).rejects.toMatchObject({ code: 'CLOSED' });
			expect(diplomat.pick('barista')).toBeUndefined();
		},
	);

	it('close ends the calls that finish on a first connection, also while its successor is lost', async () => {
		const { diplomat, sidecar, clock, network } = await simulate({ stableMs: 10 }, HOLD_PING);
		await clock.advance(10);
		const call = expect(diplomat.request('ping', 1)).rejects.toMatchObject({ code: 'CLOSED' });
		await settle();
		sidecar.connection.push('goaway', { reason: 'upgrade', graceMs: 1000 });
		await settle();
		network.failsWith = 'ECONNREFUSED';
		sidecar.connection.drop();
		await settle();
		expect(diplomat.status()).toMatchObject({ state: 'backoff', inFlight: 1 });
		await Promise.all([call, diplomat.close()]);
		await settle();
		expect(sidecar.liveCount).toBe(0);
		expect(clock.pendingTimers).toBe(0);
	});

	it('a drain ends when its last call is lost with a connection that was left', async () => {
		const { diplomat, sidecar, clock } = await simulate(
			{ stableMs: 10 },
			{ handle: ({ func }) => (func === 'getInstances' ? 'hold' : undefined) },
		);
		await clock.advance(10);
		const call = diplomat.request('getInstances', { service: 'barista' });
		const lost = expect(call).rejects.toMatchObject({ code: 'DISCONNECTED', details: { sent: true } });
		await settle();
		const [first] = sidecar.connections;
		first?.push('goaway', { reason: 'upgrade', graceMs: 1000 });
		await settle();
		const drained = diplomat.drain();
		first?.drop();
		await Promise.all([lost, drained]);
		expect(await diplomat.closed).toEqual({ reason: 'drain' });
	});

	it('has the reason that came first', async () => {
		const { diplomat } = await simulate();
		const closed = diplomat.close();
		await Promise.all([closed, diplomat.drain()]);
		expect(await diplomat.closed).toEqual({ reason: 'close' });
	});

	it('close rejects calls at once, however long the socket takes to close', async () => {
		const sidecar = new FakeSidecar(HOLD_PING);
		let destroyed: () => void = () => undefined;
		const transport = (): Duplex => {
			const { near, far } = memoryPair();
			near._destroy = (error, done) => {
				destroyed = () => done(error);
			};
			sidecar.accept(far);
			return near;
		};
		const { diplomat } = await simulate({ transport });
		const call = expect(diplomat.request('ping', 1)).rejects.toMatchObject({ code: 'CLOSED' });
		await settle();
		let isClosed = false;
		void diplomat.closed.then(() => (isClosed = true));
		const closing = diplomat.close();
		await call;
		expect(isClosed).toBe(false);
		destroyed();
		await closing;
		expect(await diplomat.closed).toEqual({ reason: 'close' });
	});

	it('close drops a socket that a drain is ending, but whose peer takes nothing', async () => {
		const sidecar = new FakeSidecar(HOLD_PING);
		const { near, far } = memoryPair();
		sidecar.accept(far);
		const { diplomat } = await simulate({ transport: () => near });
		near._write = () => undefined;
		const stop = new AbortController();
		const call = expect(diplomat.request('ping', 1, { signal: stop.signal })).rejects.toMatchObject({
			code: 'ABORTED',
		});
		await settle();
		stop.abort();
		await call;
		const drained = diplomat.drain();
		await settle();
		expect(near.destroyed).toBe(false);
		await diplomat.close();
		await drained;
		expect(await diplomat.closed).toEqual({ reason: 'drain' });
		expect(near.destroyed).toBe(true);
	});

	it("a drain ends a call's time later although the peer takes nothing, also without a heartbeat", async () => {
		const sidecar = new FakeSidecar();
		const { near, far } = memoryPair();
		sidecar.accept(far);
		const { diplomat, clock } = await simulate({ transport: () => near, timeoutMs: 700, heartbeatMs: 3_600_000 });
		near._final = () => undefined;
		const drained = diplomat.drain();
		await clock.advance(699);
		expect(near.destroyed).toBe(false);
		await clock.advance(1);
		await drained;
		expect(await diplomat.closed).toEqual({ reason: 'drain' });
		expect(clock.pendingTimers).toBe(0);
	});

	it('a drain after a sidecar of another version has come says that this client drains', async () => {
		const { diplomat, sidecar, clock } = await simulate({ stableMs: 10 }, HOLD_PING);
		await clock.advance(10);
		const call = diplomat.request('ping', 1).catch(() => undefined);
		sidecar.options = { ...HOLD_PING, hello: 'unsupported' };
		sidecar.connection.push('goaway', { reason: 'upgrade', graceMs: 1000 });
		await settle();
		expect(diplomat.status()).toMatchObject({ state: 'ready', lastError: expect.stringContaining('protocol version') });
		const drained = diplomat.drain();
		await expect(diplomat.request('ping', 2)).rejects.toMatchObject({ code: 'CLOSED' });
		await Promise.all([diplomat.close(), call, drained]);
	});

	it('close cuts a drain short', async () => {
		const { diplomat, clock } = await simulate({}, HOLD_PING);
		const call = expect(diplomat.request('ping', 1)).rejects.toMatchObject({ code: 'CLOSED' });
		await settle();
		const drained = diplomat.drain();
		await diplomat.close();
		await Promise.all([call, drained]);
		expect(clock.pendingTimers).toBe(0);
	});
});
