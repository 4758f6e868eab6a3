import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../test/simulated-client.ts';

const HOLD_PING = { handle: ({ func }: { func: string }) => (func === 'ping' ? ('hold' as const) : undefined) };

describe('a connection that is lost', () => {
	it('rejects what was sent DISCONNECTED at once, and says that it had been sent', async () => {
		const { diplomat, sidecar } = await simulate({}, HOLD_PING);
		const call = diplomat.request('ping', 1);
		await settle();
		sidecar.connection.drop();
		await expect(call).rejects.toMatchObject({ code: 'DISCONNECTED', retryable: true, details: { sent: true } });
		await diplomat.close();
	});

	it('is dialled again, from the first failure on with back-off: a crash loop makes no storm', async () => {
		const { diplomat, sidecar, clock, network } = await simulate();
		for (let turn = 0; turn < 200; turn++) {
			sidecar.connection.drop();
			await clock.advance(100);
		}
		// 20 s at a ceiling of 1 s, half of it with this random: about 45, and not thousands.
		expect(network.attempts).toBeGreaterThan(10);
		expect(network.attempts).toBeLessThan(80);
		await diplomat.close();
	});

	it('starts the delays afresh only after a connection that held', async () => {
		const { diplomat, sidecar, clock, network } = await simulate({ stableMs: 1000, retryDelayMsMin: 100 });
		const delayAfterDrop = async (heldMs: number): Promise<number> => {
			await clock.advance(heldMs);
			const before = network.attempts;
			const startMs = clock.now();
			sidecar.connection.drop();
			await settle();
			while (network.attempts === before) await clock.advance(1);
			return clock.now() - startMs;
		};
		expect(await delayAfterDrop(1000)).toBe(50);
		expect(await delayAfterDrop(0)).toBe(100);
		// Between the beginnings of two attempts.
		expect(await delayAfterDrop(10)).toBe(190);
		expect(await delayAfterDrop(1000)).toBe(50);
		await diplomat.close();
	});

	it('a full backlog is tried again quickly, and does not lengthen the delays', async () => {
		const { diplomat, clock, network } = await simulate({ retryDelayMsMin: 10, retryDelayMsMax: 10_000 }, {}, 'EAGAIN');
		await clock.advance(60);
		expect(network.attempts).toBeGreaterThan(10);
		network.failsWith = undefined;
		await clock.advance(10);
		expect(diplomat.status().state).toBe('ready');
		await diplomat.close();
	});

	it('is looked for until drain or close, however long that takes', async () => {
		const { diplomat, clock, network } = await simulate({}, {}, 'ENOENT');
		await clock.advance(3_600_000);
		const before = network.attempts;
		network.failsWith = undefined;
		await clock.advance(1000);
		expect(network.attempts).toBe(before + 1);
		expect(diplomat.status()).toMatchObject({ state: 'ready', reconnects: 0 });
		await diplomat.close();
	});

	it('a half-open one is found by the heartbeat: two pings without a byte', async () => {
		const { diplomat, sidecar, clock } = await simulate({ heartbeatMs: 1000 });
		await clock.advance(10_000);
		expect(sidecar.connections).toHaveLength(1);
		sidecar.options = { handle: () => 'hold' };
		await clock.advance(2999);
		sidecar.options = {};
		await clock.advance(100);
		expect(sidecar.connections).toHaveLength(2);
		expect(diplomat.status()).toMatchObject({ state: 'ready', reconnects: 1 });
		expect(diplomat.status().lastError).toMatch(/has not sent a byte/);
		await diplomat.close();
	});
});

describe('calls without a connection', () => {
	it('wait for it, in order', async () => {
		const { diplomat, sidecar, clock, network } = await simulate({}, {}, 'ENOENT');
		const calls = [diplomat.request('ping', 1), diplomat.request('ping', 2)];
		expect(diplomat.status()).toMatchObject({ waiting: 2, inFlight: 0 });
		network.failsWith = undefined;
		await clock.advance(1000);
		expect(await Promise.all(calls)).toEqual([1, 2]);
		expect(sidecar.requestsOf('ping').map(({ data }) => data)).toEqual([1, 2]);
		await diplomat.close();
	});

	it('keep their deadlines, and say why there is no connection', async () => {
		const { diplomat, clock } = await simulate({ timeoutMs: 300 }, {}, 'ENOENT');
		const [short, byDefault] = [diplomat.request('ping', 1, { timeoutMs: 100 }), diplomat.request('ping', 2)];
		const ended: number[] = [];
		const startMs = clock.now();
		for (const call of [short, byDefault]) call.catch(() => ended.push(clock.now() - startMs));
		await clock.advance(1000);
		expect(ended).toEqual([100, 300]);
		await expect(short).rejects.toMatchObject({
			code: 'TIMEOUT',
			message: expect.stringContaining('npx --no-install sidecar start'),
			details: { sent: false },
		});
		await diplomat.close();
	});

	it('are bounded in number', async () => {
		const { diplomat } = await simulate({ waitingMax: 1 }, {}, 'ENOENT');
		const first = diplomat.request('ping', 1);
		await expect(diplomat.request('ping', 2)).rejects.toMatchObject({ code: 'OVERLOADED', details: { waitingMax: 1 } });
		await Promise.all([expect(first).rejects.toMatchObject({ code: 'CLOSED' }), diplomat.close()]);
	});

	it('fail at once where that is asked for', async () => {
		const { diplomat } = await simulate({ whileDisconnected: 'fail' }, {}, 'ENOENT');
		await expect(diplomat.request('ping', 1)).rejects.toMatchObject({ code: 'DISCONNECTED', details: { sent: false } });
		await expect(diplomat.getService('barista')).rejects.toMatchObject({ code: 'DISCONNECTED' });
		await diplomat.close();
	});

	it('leave when their signal aborts', async () => {
		const { diplomat } = await simulate({}, {}, 'ENOENT');
		const stop = new AbortController();
		const call = diplomat.request('ping', 1, { signal: stop.signal });
		stop.abort();
		await expect(call).rejects.toMatchObject({ code: 'ABORTED' });
		expect(diplomat.status().waiting).toBe(0);
		await diplomat.close();
	});
});

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
});

describe('window', () => {
	it('narrows how much may be in flight', async () => {
		const { diplomat, sidecar } = await simulate({}, HOLD_PING);
		sidecar.connection.push('window', { inFlightMax: 1 });
		await settle();
		const first = diplomat.request('ping', 1);
		await expect(diplomat.request('ping', 2)).rejects.toMatchObject({ code: 'OVERLOADED' });
		sidecar.connection.push('window', { inFlightMax: 'many' });
		await settle();
		expect(diplomat.status().protocolFaults).toBe(1);
		await Promise.all([expect(first).rejects.toMatchObject({ code: 'CLOSED' }), diplomat.close()]);
	});
});

describe('the end', () => {
	it('drain refuses new calls, waits for those in flight, and leaves no timer and no socket', async () => {
		const { diplomat, sidecar, clock } = await simulate({}, HOLD_PING);
		const call = diplomat.request('ping', 1);
		await settle();
		const drained = diplomat.drain();
		expect(diplomat.status().state).toBe('draining');
		await expect(diplomat.request('ping', 2)).rejects.toMatchObject({ code: 'CLOSED' });
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
			const call = expect(diplomat.request('ping', 1)).rejects.toMatchObject({ code: 'CLOSED' });
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
