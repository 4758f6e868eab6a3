import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { TalliedLoad } from './tallied-load.ts';
import type { Way } from './ways/way.ts';

interface Scripted extends Way {
	readonly calls: { readonly resolve: (instance: string) => void; readonly reject: (error: Error) => void }[];
}

function scripted(): Scripted {
	const calls: Scripted['calls'] = [];
	const call = (): Promise<string> => new Promise((resolve, reject) => calls.push({ resolve, reject }));
	return { calls, call, retries: () => 3, close: () => undefined };
}

describe('a load of requests that are tallied', () => {
	it('makes each when it is due, whatever became of those before', async () => {
		const [way, clock] = [scripted(), new FakeClock()];
		const load = new TalliedLoad(way, 500, clock);
		load.begin();
		await clock.advance(19);
		expect(way.calls).toHaveLength(10);
		for (const { resolve } of way.calls) resolve('a');
		expect(await load.end()).toMatchObject({ requests: 10, answered: { a: 10 }, failures: {}, retries: 3 });
		await clock.advance(10);
		expect(way.calls).toHaveLength(10);
		expect(clock.pendingTimers).toBe(0);
	});

	it('counts latency from when a request was due', async () => {
		const [way, clock] = [scripted(), new FakeClock()];
		const load = new TalliedLoad(way, 500, clock);
		load.begin();
		await clock.advance(5);
		for (const { resolve } of way.calls) resolve('a');
		await settle();
		expect(await load.end()).toMatchObject({ requests: 3, p50Ms: 3, maxMs: 5 });
	});

	it('names what failed, and waits for the last answers', async () => {
		const [way, clock] = [scripted(), new FakeClock()];
		const load = new TalliedLoad(way, 500, clock);
		load.begin();
		await clock.advance(3);
		const ended = load.end();
		const [first, second] = way.calls;
		first?.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
		await settle();
		second?.resolve('b');
		expect(await ended).toMatchObject({
			requests: 2,
			answered: { b: 1 },
			failures: { ECONNREFUSED: 1 },
			examples: ['Error: refused'],
		});
	});

	it('turns away what nobody could work off', async () => {
		const [way, clock] = [scripted(), new FakeClock()];
		const load = new TalliedLoad(way, 1_000_000, clock);
		load.begin();
		await clock.advance(5);
		for (const { resolve } of way.calls) resolve('a');
		const { requests, turnedAway, failures, answered } = await load.end();
		expect({ answered, failures }).toEqual({ answered: { a: 4096 }, failures: {} });
		expect(turnedAway).toBe(requests - 4096);
		expect(turnedAway).toBeGreaterThan(0);
	});
});
