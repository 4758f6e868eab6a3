import { FakeClock, FakeSidecar, fakeSnapshot, HOLD_PING, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { SimulatedNetwork, simulate } from '../../test/simulated-client.ts';
import { resolveOptions } from '../foundation/options.ts';
import { RemoteSource } from '../sources/remote-source.ts';

describe('a connection that is lost', () => {
	it('rejects what was sent DISCONNECTED at once, and says that it had been sent', async () => {
		const { diplomat, sidecar } = await simulate({}, HOLD_PING);
		const call = diplomat.request('ping', 1);
		await settle();
		sidecar.connection.drop();
		await expect(call).rejects.toMatchObject({
			code: 'DISCONNECTED',
			message: 'ping: the connection was lost before the reply came',
			retryable: true,
			details: { sent: true },
		});
		await diplomat.close();
	});

	it.each([
		['asks again on the next one what may be asked twice', 'wait', [0, 1]],
		['rejects that too where calls do not wait for a connection', 'fail', [0]],
	] as const)('%s', async (_what, whileDisconnected, connections) => {
		const { diplomat, sidecar, clock } = await simulate(
			{ whileDisconnected, lookups: 'remote' },
			{ handle: ({ func, connection }) => (func === 'getService' && connection === 0 ? 'hold' : undefined) },
		);
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		const call = diplomat.getService('barista').catch((error: unknown) => error);
		await settle();
		sidecar.connection.drop();
		await clock.advance(1000);
		expect(sidecar.requestsOf('getService').map(({ connection }) => connection)).toEqual(connections);
		const lost = { code: 'DISCONNECTED', details: { func: 'getService', sent: true } };
		expect(await call).toMatchObject(whileDisconnected === 'wait' ? { host: '10.0.0.1' } : lost);
		await diplomat.close();
	});

	it('has no window any more', async () => {
		const { diplomat, sidecar, network } = await simulate();
		sidecar.connection.push('window', { inFlightMax: 2 });
		await settle();
		expect(diplomat.status().window).toBe(2);
		network.failsWith = 'ENOENT';
		sidecar.connection.drop();
		await settle();
		expect(diplomat.status()).toMatchObject({ state: 'backoff', window: null });
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
		await clock.advance(600_000);
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

describe('what is known from a connection that turns out to be half-open', () => {
	it('is as old as the last byte, and not as the finding', async () => {
		const { diplomat, sidecar, clock, network } = await simulate({ heartbeatMs: 1000 });
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		await diplomat.getService('barista');
		sidecar.options = { handle: () => 'hold' };
		network.failsWith = 'ECONNREFUSED';
		await clock.advance(3000);
		// The last bytes came at once, before the first check; two checks later it counts as dead.
		expect(await diplomat.getService('barista')).toMatchObject({ stale: true, ageMs: 3000 });
		await diplomat.close();
	});
});

describe('a connection that waits for its token', () => {
	it('is bounded in that by the time for a dial, and not once it has it', async () => {
		const { diplomat, sidecar, clock } = await simulate({ token: () => Promise.resolve('secret'), dialTimeoutMs: 500 });
		await clock.advance(5000);
		expect(sidecar.requestsOf('hello').map(({ data }) => data)).toMatchObject([{ token: 'secret' }]);
		expect(diplomat.status().state).toBe('ready');
		await diplomat.close();
	});

	it('leaves no timer when the client is closed meanwhile', async () => {
		const { diplomat, clock, sidecar } = await simulate({ token: () => new Promise<string>(() => undefined) });
		const call = expect(diplomat.request('ping', 1)).rejects.toMatchObject({ code: 'CLOSED' });
		expect(sidecar.requests).toEqual([]);
		await Promise.all([call, diplomat.close()]);
		await settle();
		expect(clock.pendingTimers).toBe(0);
	});
});

describe('a connection that lets a call time out', () => {
	it('is checked at once, and replaced in seconds if the sidecar says nothing at all', async () => {
		const { diplomat, sidecar, clock } = await simulate({ heartbeatMs: 60_000 });
		sidecar.options = { handle: () => 'hold' };
		const call = diplomat.request('status', null, { timeoutMs: 1000 });
		call.catch(() => undefined);
		await clock.advance(1000);
		await expect(call).rejects.toMatchObject({ code: 'TIMEOUT' });
		await clock.advance(3999);
		expect(sidecar.connections).toHaveLength(1);
		sidecar.options = {};
		await clock.advance(100);
		expect(sidecar.connections).toHaveLength(2);
		expect(diplomat.status().lastError).toMatch(/has not sent a byte/);
		await diplomat.close();
	});

	it('stays, and is checked no more often, if the sidecar answers anything', async () => {
		const pings: number[] = [];
		const clockOf: { now?: () => number } = {};
		const handle = ({ func }: { readonly func: string }) => {
			if (func === 'ping') pings.push(clockOf.now?.() ?? -1);
			return func === 'status' ? ('hold' as const) : undefined;
		};
		const { diplomat, sidecar, clock } = await simulate({ heartbeatMs: 20_000 }, { handle });
		const startMs = clock.now();
		clockOf.now = () => clock.now() - startMs;
		const call = diplomat.request('status', null, { timeoutMs: 1000 });
		call.catch(() => undefined);
		await clock.advance(43_000);
		// One for the doubt, one when it was dispelled, and then at the usual pace.
		expect(pings).toEqual([1000, 3000, 23_000, 43_000]);
		expect(sidecar.connections).toHaveLength(1);
		await diplomat.close();
	});
});

describe('ready', () => {
	it('begins to connect, resolves when hello is answered, and at once while there is a connection', async () => {
		const sidecar = new FakeSidecar({ hello: 'silent' });
		const clock = new FakeClock();
		const { open } = new SimulatedNetwork(sidecar);
		const { connection } = new RemoteSource(resolveOptions({ path: '/nowhere', clock, transport: open }));
		expect(connection.state).toBe('idle');
		let isReady = false;
		const ready = connection.ready().then(() => (isReady = true));
		await settle();
		expect([connection.state, isReady]).toEqual(['connecting', false]);
		sidecar.connection.reply(sidecar.requestsOf('hello')[0]?.id ?? -1, { version: 1 });
		await ready;
		await connection.ready();
		await connection.close();
		expect(clock.pendingTimers).toBe(0);
	});

	it('rejects with ABORTED, TIMEOUT or OVERLOADED by its own name', async () => {
		const { diplomat, clock } = await simulate({ waitingMax: 1 }, {}, 'ENOENT');
		const stop = new AbortController();
		const first = diplomat.ready({ signal: stop.signal }).catch((error: unknown) => error);
		await expect(diplomat.ready()).rejects.toMatchObject({ code: 'OVERLOADED', details: { func: 'ready' } });
		stop.abort();
		expect(await first).toMatchObject({ code: 'ABORTED', message: 'ready: aborted by the caller' });
		await expect(diplomat.ready({ signal: stop.signal })).rejects.toMatchObject({
			code: 'ABORTED',
			message: 'ready: aborted by the caller',
		});
		const late = diplomat.ready({ timeoutMs: 100 }).catch((error: unknown) => error);
		await clock.advance(100);
		expect(await late).toMatchObject({
			code: 'TIMEOUT',
			message: expect.stringContaining('no sidecar answered at /nowhere/simulated.sock within 100 ms: '),
			details: { address: '/nowhere/simulated.sock', found: 'no directory', timeoutMs: 100 },
			cause: expect.objectContaining({ message: 'connect ENOENT' }),
		});
		await diplomat.close();
	});
});

describe('a transport with a mark of the listener', () => {
	it('is used at once for a new listener, and one without waits its delay with a single timer', async () => {
		for (const hasMark of [true, false]) {
			let listener = 'first';
			const sidecar = new FakeSidecar();
			const network = new SimulatedNetwork(sidecar);
			const mark = (address: object): string => `${listener} at ${JSON.stringify(address)}`;
			const transport = Object.assign(() => network.open(), hasMark && { mark });
			const { diplomat, clock } = await simulate({ transport, retryDelayMsMin: 1000 });
			network.failsWith = 'ECONNREFUSED';
			sidecar.connection.drop();
			await settle();
			expect((clock.nextDueMs ?? 0) - clock.now()).toBe(hasMark ? 25 : 500);
			listener = 'second';
			await clock.advance(25);
			expect(network.attempts).toBe(hasMark ? 2 : 1);
			await diplomat.close();
		}
	});
});

describe('a dial that is not answered', () => {
	it('is given up when another process listens at the address', async () => {
		let listener = 'hung';
		const network = new SimulatedNetwork(new FakeSidecar({ handle: () => 'hold' }));
		const transport = Object.assign(() => network.open(), { mark: () => listener });
		const { diplomat, clock } = await simulate({ transport });
		diplomat.ready().catch(() => undefined);
		await clock.advance(1000);
		expect(network.attempts).toBe(1);
		listener = 'next';
		await clock.advance(50);
		expect(network.attempts).toBe(2);
		await diplomat.close();
		expect(clock.pendingTimers).toBe(0);
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
			message: expect.stringContaining('`npx @spock/sidecar start --socket '),
			details: { sent: false },
		});
		await diplomat.close();
	});

	it('as lookups say why there is no connection too', async () => {
		const { diplomat, clock } = await simulate({}, {}, 'ENOENT');
		const lookup = diplomat.getInstances('barista', { timeoutMs: 100 }).catch((error: unknown) => error);
		await clock.advance(100);
		expect(await lookup).toMatchObject({
			code: 'TIMEOUT',
			message: expect.stringMatching(/, because there is no connection to the sidecar at .*sidecar start/),
		});
		await diplomat.close();
	});

	it('are bounded in number', async () => {
		const { diplomat } = await simulate({ waitingMax: 1 }, {}, 'ENOENT');
		const first = diplomat.request('ping', 1);
		await expect(diplomat.request('ping', 2)).rejects.toMatchObject({ code: 'OVERLOADED', details: { waitingMax: 1 } });
		await Promise.all([expect(first).rejects.toMatchObject({ code: 'CLOSED' }), diplomat.close()]);
	});

	it('fail at once where that is asked for, and only without a connection', async () => {
		const connected = await simulate({ whileDisconnected: 'fail' });
		connected.sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		expect(await connected.diplomat.getService('barista')).toMatchObject({ host: '10.0.0.1' });
		await connected.diplomat.close();
		const { diplomat } = await simulate({ whileDisconnected: 'fail' }, {}, 'ENOENT');
		await expect(diplomat.request('ping', 1)).rejects.toMatchObject({
			code: 'DISCONNECTED',
			message: expect.stringMatching(/^ping: there is no connection to the sidecar at .*sidecar start/),
			details: { sent: false },
		});
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
