import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { SilenceWatch } from './silence-watch.ts';

const HEARTBEAT_MS = 10_000;

function watching(heartbeatMs = HEARTBEAT_MS) {
	const clock = new FakeClock();
	const told: string[] = [];
	const client = { bytes: 0 };
	const watch = new SilenceWatch(clock, {
		bytesRead: () => client.bytes,
		silent: (silentMs) => told.push(`silent for ${silentMs}`),
		heard: () => told.push('heard'),
	});
	watch.start(heartbeatMs);
	return { clock, told, client, watch };
}

describe('a client that says how often it is heard', () => {
	it('is silent after three intervals without a byte, told once, and heard with the next byte', async () => {
		const { clock, told, client, watch } = watching();
		await clock.advance(29_999);
		expect(told).toEqual([]);
		await clock.advance(60_000);
		expect(told).toEqual(['silent for 30000']);
		client.bytes++;
		watch.chunkRead();
		watch.chunkRead();
		expect(told).toEqual(['silent for 30000', 'heard']);
		await clock.advance(30_000);
		expect(told).toHaveLength(2);
		await clock.advance(1);
		expect(told.at(-1)).toBe('silent for 30000');
		watch.stop();
		expect(clock.pendingTimers).toBe(0);
	});

	it('is not silent while a byte comes now and then, however late a ping is', async () => {
		const { clock, told, client } = watching();
		for (let ping = 0; ping < 20; ping++) {
			await clock.advance(19_000);
			client.bytes++;
		}
		expect(told).toEqual([]);
	});

	it('that promises to be heard all the time is looked at twice a second', async () => {
		const { clock, told } = watching(1);
		await clock.advance(1499);
		expect(told).toEqual([]);
		await clock.advance(1);
		expect(told).toEqual(['silent for 1500']);
	});
});
