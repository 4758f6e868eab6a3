import { type FakeAnswer, HOLD_PING, type RecordedRequest, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { type Simulation, simulate } from '../../test/simulated-client.ts';

/** Holds hello from the second connection on, and every ping. */
const HOLD_SUCCESSORS = {
	handle: ({ func, connection }: RecordedRequest): FakeAnswer | undefined =>
		func === 'ping' || (func === 'hello' && connection > 0) ? 'hold' : undefined,
};
const GREETING = { version: 1, sidecar: '@spock/fake/1.0.0', instance: 'fake-2', features: ['push', 'goaway'] };

describe('goaway', () => {
	it('new calls go to a second socket, those in flight finish on the first, which is then closed', async () => {
		const { diplomat, sidecar, clock } = await simulate({ stableMs: 10 }, HOLD_PING);
		await clock.advance(10);
		const old = diplomat.request('ping', 'old');
		await settle();
		const [first] = sidecar.connections;
		first?.push('goaway', { reason: 'upgrade', graceMs: 1000 });
		await settle();
		expect(sidecar.connections).toHaveLength(2);
		const next = diplomat.request('ping', 'next');
		await settle();
		const pings = sidecar.requestsOf('ping');
		expect(pings.map(({ connection }) => connection)).toEqual([0, 1]);
		sidecar.connections[1]?.reply(pings[1]?.id ?? -1, 'next');
		first?.reply(pings[0]?.id ?? -1, 'old');
		expect(await Promise.all([old, next])).toEqual(['old', 'next']);
		await settle();
		expect(sidecar.liveCount).toBe(1);
		expect(first?.stream.destroyed).toBe(true);
		expect(diplomat.status().lastError).toBeNull();
		await diplomat.close();
	});

	it("of a sidecar that many clients leave is heeded at a point of each one's own, while the first socket serves", async () => {
		const { diplomat, sidecar, clock } = await simulate({ stableMs: 10 });
		await clock.advance(10);
		sidecar.connection.push('goaway', { reason: 'upgrade', graceMs: 25_000, clients: 1000 });
		await clock.advance(499);
		expect(sidecar.connections).toHaveLength(1);
		expect(await diplomat.request('ping', 1)).toBe(1);
		await clock.advance(1);
		await settle();
		expect(sidecar.connections).toHaveLength(2);
		expect(diplomat.status().state).toBe('ready');
		await diplomat.close();
	});

	it.each([31.5, 'many', -1, null])('with a number of clients that is none, %j, is heeded at once', async (clients) => {
		const { diplomat, sidecar, clock } = await simulate({ stableMs: 10 });
		await clock.advance(10);
		sidecar.connection.push('goaway', { reason: 'upgrade', graceMs: 25_000, clients } as never);
		await settle();
		expect(sidecar.connections).toHaveLength(2);
		await diplomat.close();
	});

	it('lookups go on meanwhile, from either socket, and never turn stale', async () => {
		const { diplomat, sidecar, clock } = await simulate({ stableMs: 10 });
		await diplomat.getService('barista').catch(() => undefined);
		await clock.advance(10);
		sidecar.connection.push('goaway', { reason: 'shutdown', graceMs: 1000 });
		await settle();
		expect(sidecar.requestsOf('watchService').map(({ connection }) => connection)).toEqual([0, 1]);
		expect((await diplomat.getInstances('barista')).source).toBe('live');
		await diplomat.close();
	});

	it('said again while its successor is dialled, or waited for, dials no other', async () => {
		const { diplomat, sidecar, clock, network } = await simulate({ stableMs: 10, retryDelayMsMin: 1000 });
		await clock.advance(10);
		const { connection } = sidecar;
		const goaway = async (): Promise<number> => {
			connection.push('goaway', { reason: 'upgrade', graceMs: 1000 });
			await settle();
			return network.attempts;
		};
		network.failsWith = 'ECONNREFUSED';
		expect([await goaway(), await goaway()]).toEqual([2, 2]);
		network.failsWith = undefined;
		sidecar.options = { hello: 'silent' };
		await clock.advance(1000);
		expect([network.attempts, await goaway()]).toEqual([3, 3]);
		await diplomat.close();
	});

	it('a sidecar that says it to every new connection makes no storm', async () => {
		const { diplomat, sidecar, clock, network } = await simulate();
		for (let turn = 0; turn < 200; turn++) {
			sidecar.connection.push('goaway', { reason: 'upgrade', graceMs: 1000 });
			await clock.advance(100);
		}
		expect(network.attempts).toBeLessThan(80);
		expect(diplomat.status().state).toBe('ready');
		await diplomat.close();
	});

	it('a successor that cannot be reached is tried again, and the first serves on', async () => {
		const { diplomat, sidecar, clock, network } = await simulate({ stableMs: 10 });
		await clock.advance(10);
		network.failsWith = 'ECONNREFUSED';
		sidecar.connection.push('goaway', { reason: 'upgrade', graceMs: 1000 });
		await clock.advance(5000);
		expect(await diplomat.request('ping', 'still here')).toBe('still here');
		network.failsWith = undefined;
		await clock.advance(2000);
		expect(sidecar.connections).toHaveLength(2);
		expect(sidecar.liveCount).toBe(1);
		await diplomat.close();
	});

	it('a connection that has finished leaves in peace the one that is dialled meanwhile', async () => {
		const { diplomat, sidecar, clock } = await simulate({ stableMs: 10 }, HOLD_PING);
		await clock.advance(10);
		const old = diplomat.request('ping', 'old');
		await settle();
		const [first] = sidecar.connections;
		first?.push('goaway', { reason: 'upgrade', graceMs: 1000 });
		await clock.advance(10);
		sidecar.options = HOLD_SUCCESSORS;
		sidecar.connection.push('goaway', { reason: 'upgrade', graceMs: 1000 });
		await settle();
		expect(sidecar.connections).toHaveLength(3);
		first?.reply(sidecar.requestsOf('ping')[0]?.id ?? -1, 'old');
		expect(await old).toBe('old');
		await settle();
		expect(first?.stream.destroyed).toBe(true);
		sidecar.connection.reply(sidecar.requestsOf('hello')[2]?.id ?? -1, GREETING);
		await settle();
		const next = expect(diplomat.request('ping', 'next')).rejects.toMatchObject({ code: 'CLOSED' });
		await settle();
		expect(sidecar.requestsOf('ping').map(({ connection }) => connection)).toEqual([0, 2]);
		await Promise.all([next, diplomat.close()]);
	});

	it.each([
		['a drain', async (end: Simulation) => void end.diplomat.drain(), 'draining', 1],
		['the loss of the first', async (end: Simulation) => end.sidecar.connections[0]?.drop(), 'backoff', 0],
	])('%s gives up the successor that is dialled', async (_what, end, state, left) => {
		const simulation = await simulate({ stableMs: 10 }, HOLD_SUCCESSORS);
		const { diplomat, sidecar, clock } = simulation;
		await clock.advance(10);
		const held = diplomat.request('ping', 1).catch(() => undefined);
		await settle();
		sidecar.connection.push('goaway', { reason: 'upgrade', graceMs: 1000 });
		await settle();
		expect(sidecar.liveCount).toBe(2);
		await end(simulation);
		await settle();
		expect(diplomat.status().state).toBe(state);
		expect(sidecar.liveCount).toBe(left);
		await Promise.all([held, diplomat.close()]);
	});

	it('a drain waits for calls that wait for the window of the successor, also when the first has finished', async () => {
		const { diplomat, sidecar, clock } = await simulate({ stableMs: 10, heartbeatMs: 1000 }, HOLD_PING);
		await clock.advance(10);
		const [first] = sidecar.connections;
		const answer = async (data: string | null, connection: number): Promise<void> => {
			const found = sidecar.requestsOf('ping').find((ping) => ping.data === data && ping.connection === connection);
			sidecar.connections[connection]?.reply(found?.id ?? -1, data);
			await settle();
		};
		const old = diplomat.request('ping', 'old');
		await settle();
		first?.push('goaway', { reason: 'upgrade', graceMs: 5000 });
		await settle();
		sidecar.connection.push('window', { inFlightMax: 1 });
		// A ping of the heartbeat, which no caller waits for, takes the only place.
		await clock.advance(1000);
		const next = diplomat.request('ping', 'next');
		const drained = diplomat.drain();
		await answer('old', 0);
		expect(await old).toBe('old');
		expect(diplomat.status()).toMatchObject({ state: 'draining', inFlight: 0, waiting: 1 });
		await answer(null, 1);
		await answer('next', 1);
		expect(await next).toBe('next');
		await drained;
	});
});
