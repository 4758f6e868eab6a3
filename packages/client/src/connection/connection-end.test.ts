import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';

const HOLD_PING = { handle: ({ func }: { func: string }) => (func === 'ping' ? ('hold' as const) : undefined) };

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
