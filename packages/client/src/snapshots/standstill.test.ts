import { FakeClock, fakeSnapshot, HOLD_PING, settle, wireError } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';

const HEARTBEAT_MS = 60_000;

/** A client that knows barista as live, half a second after the sidecar sent it. */
async function knowing(options: Parameters<typeof simulate>[0] = {}) {
	const simulation = await simulate({ heartbeatMs: HEARTBEAT_MS, ...options });
	const { sidecar, diplomat, clock } = simulation;
	sidecar.publish({ ...fakeSnapshot('barista', 1, ['10.0.0.1:80']), verifiedAt: clock.wallNow() });
	await diplomat.getService('barista');
	await clock.advance(500);
	return simulation;
}

describe('after this process stood still', () => {
	it('what is known is last known until the sidecar has answered a ping, by which all that waited has been read', async () => {
		const { sidecar, diplomat, clock } = await knowing();
		sidecar.options = HOLD_PING;
		clock.work(20_000);
		await clock.advance(0);
		expect(await diplomat.getService('barista')).toMatchObject({ stale: true, ageMs: 20_500 });
		const ping = sidecar.requests.find(({ func }) => func === 'ping');
		sidecar.connection.reply(ping?.id ?? -1, null);
		await settle();
		expect(await diplomat.getService('barista')).not.toHaveProperty('stale');
		await diplomat.close();
		expect(clock.pendingTimers).toBe(0);
	});

	it('what waited in its socket is as old as the standstill', async () => {
		const { sidecar, diplomat, clock } = await knowing();
		clock.work(17_000);
		const lastKnown = { source: 'last-known-good', ageMs: 2000, verifiedAt: clock.wallNow() - 19_000 } as const;
		sidecar.publish({ ...fakeSnapshot('barista', 2, ['10.0.0.2:80']), ...lastKnown });
		await settle();
		expect(await diplomat.getService('barista')).toMatchObject({ host: '10.0.0.2', ageMs: 19_000 });
		await clock.advance(1000);
		expect(await diplomat.getService('barista')).toMatchObject({ ageMs: 20_000 });
		await diplomat.close();
	});

	it('a change that waited as a live one is last known too, until the sidecar has answered', async () => {
		const { sidecar, diplomat, clock } = await knowing();
		sidecar.options = HOLD_PING;
		clock.work(17_000);
		await clock.advance(0);
		sidecar.publish(fakeSnapshot('barista', 2, ['10.0.0.2:80']));
		await settle();
		expect(await diplomat.getService('barista')).toMatchObject({ host: '10.0.0.2', stale: true, ageMs: 17_000 });
		sidecar.connection.reply(sidecar.requests.find(({ func }) => func === 'ping')?.id ?? -1, null);
		await settle();
		expect(await diplomat.getService('barista')).toMatchObject({ host: '10.0.0.2' });
		expect(diplomat.pick('barista')).not.toHaveProperty('stale');
		await diplomat.close();
	});

	it('a sidecar that is gone meanwhile was live until its last byte, and not until that was noticed', async () => {
		const { sidecar, diplomat, clock, network } = await knowing();
		network.failsWith = 'ECONNREFUSED';
		clock.work(25_000);
		sidecar.connection.drop();
		await settle();
		expect(await diplomat.getService('barista')).toMatchObject({ stale: true, ageMs: 25_500 });
		await diplomat.close();
	});

	it('a suspended machine counts, whose monotonic clock stood still', async () => {
		const { diplomat, clock, network, sidecar } = await knowing();
		network.failsWith = 'ECONNREFUSED';
		clock.wallOffsetMs += 3_600_000;
		await clock.advance(500);
		sidecar.connection.drop();
		await settle();
		const { ageMs } = await diplomat.getService('barista');
		expect(ageMs).toBeGreaterThanOrEqual(3_600_000);
		await diplomat.close();
	});

	it('the reply to a lookup with maxAgeMs is not taken, which waited for it: the sidecar is asked again', async () => {
		const { sidecar, diplomat, clock } = await knowing({ timeoutMs: 60_000 });
		sidecar.options = { handle: ({ func }) => (func === 'getInstances' ? 'hold' : undefined) };
		const read = diplomat.getInstances('barista', { maxAgeMs: 100 });
		await settle();
		const held = sidecar.requests.findLast(({ func }) => func === 'getInstances');
		clock.work(10_000);
		sidecar.options = {
			handle: ({ func }) => (func === 'getInstances' ? { error: wireError('UNAVAILABLE', true) } : undefined),
		};
		sidecar.connection.reply(held?.id ?? -1, fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		await expect(read).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		await diplomat.close();
	});
});

describe('a sidecar that is killed after it hung', () => {
	it('was live until its last byte', async () => {
		const { sidecar, diplomat, clock, network } = await knowing();
		network.failsWith = 'ECONNREFUSED';
		await clock.advance(25_000);
		sidecar.connection.drop();
		await settle();
		expect(await diplomat.getService('barista')).toMatchObject({ stale: true, ageMs: 25_500 });
		await diplomat.close();
	});
});

describe('a sidecar on another machine', () => {
	it('whose clock differs: the difference is no age, and the way is', async () => {
		const clock = new FakeClock();
		const aheadMs = -600_000;
		const theirs = (): number => clock.wallNow() + aheadMs;
		const simulation = await simulate(
			{ clock, heartbeatMs: HEARTBEAT_MS, path: undefined, host: '10.0.0.9', port: 7070 } as never,
			{
				handle: ({ func, data }) => (func === 'ping' ? { data: { ...(data as object), time: theirs() } } : undefined),
			},
		);
		const { sidecar, diplomat } = simulation;
		const lastKnown = (ageMs: number) =>
			({ source: 'last-known-good', ageMs, verifiedAt: theirs() - 50_000, liveAt: theirs() - ageMs }) as const;
		await clock.advance(HEARTBEAT_MS);
		const sent = { ...fakeSnapshot('barista', 1, ['10.0.0.1:80']), ...lastKnown(3000) };
		// On the way for seven seconds, while this process ran.
		for (let count = 0; count < 70; count++) await clock.advance(100);
		sidecar.publish(sent);
		const answer = await diplomat.getService('barista');
		expect(answer).toMatchObject({ stale: true, ageMs: 10_000 });
		expect(answer.verifiedAt).toBe(clock.wallNow() - 57_000);
		await diplomat.close();
	});
});

describe('a wall clock that is set back', () => {
	it('makes nothing younger for a caller who wants a young answer', async () => {
		const { sidecar, diplomat, clock } = await knowing();
		await clock.advance(24_500);
		clock.wallOffsetMs -= 20_000;
		const asked = sidecar.requests.length;
		await diplomat.getInstances('barista', { maxAgeMs: 10_000 }).catch(() => undefined);
		expect(sidecar.requests.slice(asked).map(({ func }) => func)).toContain('getInstances');
		await diplomat.close();
	});
});
