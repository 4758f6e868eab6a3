import { fakeKey, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';

describe('the life of a configuration', () => {
	it('ready waits within its deadline and signal', async () => {
		const { diplomat, clock } = await simulate(
			{},
			{ handle: ({ func }) => (func === 'watchKey' ? 'hold' : undefined) },
		);
		const config = diplomat.config('app/limits');
		const late = expect(config.ready({ timeoutMs: 100 })).rejects.toMatchObject({
			code: 'TIMEOUT',
			details: { key: 'app/limits', timeoutMs: 100 },
		});
		await clock.advance(100);
		await late;
		const stop = new AbortController();
		const aborted = expect(config.ready({ signal: stop.signal })).rejects.toMatchObject({ code: 'ABORTED' });
		stop.abort();
		await aborted;
		const closed = expect(config.ready()).rejects.toMatchObject({ code: 'CLOSED' });
		config.close();
		await closed;
		await expect(config.ready()).rejects.toMatchObject({ code: 'CLOSED' });
		await diplomat.close();
	});

	it('iterating gives the value and then each new one, newest only, until it is closed', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publishKey(fakeKey('app/n', 1, '1'));
		using config = await diplomat.config('app/n', { parse: Number }).ready();
		const changes = config.changes();
		expect((await changes.next()).value).toBe(1);
		for (let n = 2; n <= 5; n++) sidecar.publishKey(fakeKey('app/n', n, String(n)));
		await settle();
		expect((await changes.next()).value).toBe(5);
		const stop = new AbortController();
		const stopped = config.changes({ signal: stop.signal });
		expect((await stopped.next()).value).toBe(5);
		stop.abort();
		expect((await stopped.next()).done).toBe(true);
		const values: number[] = [];
		for await (const value of config) {
			values.push(value);
			config.close();
		}
		expect(values).toEqual([5]);
		expect((await changes.next()).done).toBe(true);
		expect((await config.changes().next()).done).toBe(true);
		await diplomat.close();
	});

	it('ends with its client; its last value can still be read', async () => {
		const { diplomat, sidecar, clock } = await simulate();
		sidecar.publishKey(fakeKey('app/n', 1, '1'));
		const config = await diplomat.config('app/n').ready();
		await diplomat.close();
		await clock.advance(50);
		expect(config).toMatchObject({ value: '1', source: 'last-known-good' });
		expect(config.ageMs).toBeGreaterThanOrEqual(50);
		expect(() => diplomat.config('app/n')).toThrow(expect.objectContaining({ code: 'CLOSED' }));
		expect(clock.pendingTimers).toBe(0);
	});

	it('closed, it leaves no subscription behind', async () => {
		const { diplomat, sidecar, clock } = await simulate({ idleSubscriptionMs: 1000 });
		const config = diplomat.config('app/n', { default: 'x' });
		await config.ready();
		config.close();
		await clock.advance(2000);
		expect(sidecar.requestsOf('unwatchKey')).toHaveLength(1);
		expect(diplomat.status().subscriptions).toBe(0);
		await diplomat.close();
	});

	it('a listener that closes it while it is told, and one that throws, disturb nobody', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publishKey(fakeKey('app/n', 1, '1'));
		await diplomat.getKey('app/n');
		// Known already: the listener is called before `config` returns.
		const closing = diplomat.config('app/n', { onChange: (_value, config) => config.close() });
		const faults: unknown[] = [];
		const before = process.listeners('uncaughtException');
		process.removeAllListeners('uncaughtException');
		process.on('uncaughtException', (fault) => faults.push(fault));
		const told: string[] = [];
		diplomat.config('app/n', {
			onChange: () => {
				throw new Error('of the app');
			},
		});
		diplomat.config('app/n', { onChange: (value) => told.push(value) });
		sidecar.publishKey(fakeKey('app/n', 2, '2'));
		await settle();
		process.removeAllListeners('uncaughtException');
		for (const listener of before) process.on('uncaughtException', listener);
		expect(closing.value).toBe('1');
		expect(told).toEqual(['1', '2']);
		expect(faults).toMatchObject([{ message: 'of the app' }, { message: 'of the app' }]);
		await diplomat.close();
	});
});
