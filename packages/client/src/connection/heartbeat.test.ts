import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { Heartbeat } from './heartbeat.ts';

/** A heartbeat of a peer that says nothing; times count from when it was made. */
function makeHeartbeat(intervalMs: number) {
	const clock = new FakeClock();
	const madeMs = clock.now();
	const peer = { bytes: 0 };
	const pings: number[] = [];
	const dead: { atMs: number; silentSinceMs: number }[] = [];
	const heartbeat = new Heartbeat(clock, intervalMs, {
		bytesRead: () => peer.bytes,
		ping: () => pings.push(clock.now() - madeMs),
		dead: () => void dead.push({ atMs: clock.now() - madeMs, silentSinceMs: heartbeat.heardAtMs - madeMs }),
	});
	const hear = (): void => {
		peer.bytes++;
		heartbeat.heard();
	};
	return { clock, heartbeat, peer, hear, pings, dead };
}

describe('a heartbeat', () => {
	it('calls a peer dead that answers two questions with no byte, silent since the start', async () => {
		const { clock, heartbeat, hear, pings, dead } = makeHeartbeat(1000);
		await clock.advance(500);
		hear();
		heartbeat.start();
		await clock.advance(10_000);
		expect(pings).toEqual([1500, 2500]);
		expect(dead).toEqual([{ atMs: 3500, silentSinceMs: 500 }]);
		expect(clock.pendingTimers).toBe(0);
	});

	it('counts afresh after any byte', async () => {
		const { clock, heartbeat, hear, dead } = makeHeartbeat(1000);
		heartbeat.start();
		await clock.advance(2500);
		hear();
		await clock.advance(2000);
		expect(dead).toEqual([]);
		await clock.advance(1000);
		expect(dead).toEqual([{ atMs: 5000, silentSinceMs: 2500 }]);
	});

	it('asks at once in doubt, and checks every two seconds until a byte comes', async () => {
		const { clock, heartbeat, hear, pings, dead } = makeHeartbeat(60_000);
		heartbeat.start();
		await clock.advance(1000);
		heartbeat.doubt();
		await clock.advance(500);
		// Already asked.
		heartbeat.doubt();
		await clock.advance(2000);
		hear();
		await clock.advance(61_000);
		expect(pings).toEqual([1000, 3000, 5000]);
		heartbeat.doubt();
		await clock.advance(4000);
		expect(pings).toEqual([1000, 3000, 5000, 64_500, 66_500]);
		expect(dead).toEqual([{ atMs: 68_500, silentSinceMs: 3500 }]);
	});

	it('that asks every two seconds anyway does nothing more in doubt', async () => {
		const { clock, heartbeat, pings } = makeHeartbeat(2000);
		heartbeat.start();
		await clock.advance(1000);
		heartbeat.doubt();
		expect(pings).toEqual([]);
		await clock.advance(1000);
		expect(pings).toEqual([2000]);
	});

	it('asks nothing in doubt before its start and after its stop', async () => {
		const { clock, heartbeat, pings } = makeHeartbeat(60_000);
		heartbeat.doubt();
		heartbeat.start();
		heartbeat.stop();
		heartbeat.doubt();
		await clock.advance(120_000);
		expect(pings).toEqual([]);
		expect(clock.pendingTimers).toBe(0);
	});
});
