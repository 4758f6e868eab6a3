import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { SOCKET_PATH_CHECK_MS } from '../lifecycle/socket-path-watch.ts';
import { untilAbandoned } from './until-abandoned.ts';

const GONE = async (): Promise<boolean> => true;
const THERE = async (): Promise<boolean> => false;
const FAILS = async (): Promise<boolean> => {
	throw Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' });
};
const LONG_MS = 60 * SOCKET_PATH_CHECK_MS;

function waiting() {
	const clock = new FakeClock();
	const abort = new AbortController();
	const seen = { isStale: THERE, looks: 0, hasEnded: false, failures: [] as unknown[] };
	const isStale = (): Promise<boolean> => {
		seen.looks++;
		return seen.isStale();
	};
	const failed = (error: unknown): void => void seen.failures.push(error);
	const ended = untilAbandoned({ path: '/uds/sidecar.sock', clock, signal: abort.signal, failed, isStale });
	const end = ended.then(() => {
		seen.hasEnded = true;
	});
	return { clock, abort, seen, end };
}

describe('untilAbandoned', () => {
	it('ends when no process has listened for some time, clearly longer than a deleted socket file is missing', async () => {
		const { clock, seen, end } = waiting();
		await clock.advance(LONG_MS);
		seen.isStale = GONE;
		await clock.advance(4 * SOCKET_PATH_CHECK_MS);
		expect(seen.hasEnded).toBe(false);
		await clock.advance(LONG_MS);
		await end;
		expect(clock.pendingTimers).toBe(0);
	});

	it('goes on for a successor that is back in time, however often it was away', async () => {
		const { clock, seen } = waiting();
		for (let time = 0; time < 20; time++) {
			seen.isStale = GONE;
			await clock.advance(4 * SOCKET_PATH_CHECK_MS);
			seen.isStale = THERE;
			await clock.advance(2 * SOCKET_PATH_CHECK_MS);
		}
		expect(seen.hasEnded).toBe(false);
	});

	it.each([
		['there', THERE],
		['gone', GONE],
	])('goes on while it cannot look, and reports that once; the successor was %s before', async (_, before) => {
		const { clock, seen, end } = waiting();
		seen.isStale = before;
		await clock.advance(2 * SOCKET_PATH_CHECK_MS);
		seen.isStale = FAILS;
		await clock.advance(LONG_MS);
		expect([seen.hasEnded, seen.failures]).toEqual([false, [expect.objectContaining({ code: 'EMFILE' })]]);
		seen.isStale = GONE;
		// What was seen before the failures does not count.
		await clock.advance(4 * SOCKET_PATH_CHECK_MS);
		expect(seen.hasEnded).toBe(false);
		await clock.advance(LONG_MS);
		await end;
	});

	it('ends at a signal, and looks no more', async () => {
		const { clock, abort, seen, end } = waiting();
		await clock.advance(LONG_MS);
		abort.abort();
		await end;
		const { looks } = seen;
		await clock.advance(LONG_MS);
		expect([seen.looks, clock.pendingTimers]).toEqual([looks, 0]);
	});
});
