import { getEventListeners } from 'node:events';

import { SpockError } from '@spock/protocol';
import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { Waiters } from './waiters.ts';

function makeWaiters() {
	const clock = new FakeClock();
	const waiters = new Waiters<string>(clock, true);
	const stop = new AbortController();
	const wait = (timeoutMs = 100): Promise<string> => {
		const value = waiters.wait('ready', { timeoutMs, signal: stop.signal }, () => new SpockError('TIMEOUT', 'late'));
		value.catch(() => undefined);
		return value;
	};
	/** What is left behind: callers that wait, timers, listeners. */
	const left = (): number[] => [waiters.count, clock.pendingTimers, getEventListeners(stop.signal, 'abort').length];
	return { clock, waiters, stop, wait, left };
}

describe('callers that wait for one value', () => {
	it('all get it, and leave nothing behind', async () => {
		const { waiters, wait, left } = makeWaiters();
		const both = [wait(), wait()];
		expect(left()).toEqual([2, 2, 1]);
		waiters.resolveAll('the value');
		expect(await Promise.all(both)).toEqual(['the value', 'the value']);
		expect(left()).toEqual([0, 0, 0]);
	});

	it('are all rejected with one error, and leave nothing behind', async () => {
		const { waiters, wait, left } = makeWaiters();
		const both = [wait(), wait()];
		waiters.rejectAll(new SpockError('CLOSED', 'over'));
		for (const one of both) await expect(one).rejects.toMatchObject({ code: 'CLOSED' });
		expect(left()).toEqual([0, 0, 0]);
	});

	it('have a deadline each', async () => {
		const { clock, wait, left, waiters } = makeWaiters();
		const [short, long] = [wait(100), wait(200)];
		await clock.advance(100);
		await expect(short).rejects.toMatchObject({ code: 'TIMEOUT' });
		expect(left()).toEqual([1, 1, 1]);
		waiters.resolveAll('the value');
		expect(await long).toBe('the value');
	});

	it('leave at once when their signal aborts', async () => {
		const { stop, wait, left } = makeWaiters();
		const one = wait();
		stop.abort('enough');
		await expect(one).rejects.toMatchObject({ code: 'ABORTED', cause: 'enough' });
		await settle();
		expect(left()).toEqual([0, 0, 0]);
	});
});
