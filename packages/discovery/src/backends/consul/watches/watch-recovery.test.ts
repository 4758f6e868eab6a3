import { SpockError } from '@spock/protocol';
import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import type { FetchAnswer } from '../../../watch/watch-loop.ts';
import { type ConsulWatch, WatchRecovery } from './watch-recovery.ts';

const away = new SpockError('UNAVAILABLE', 'refused');
const denied = new SpockError('ACL_DENIED', 'denied');
const refused = new SpockError('UNAVAILABLE', 'a bad filter', { details: { status: 400 } });
const unknown = new SpockError('UNAVAILABLE', 'No path to datacenter', { details: { status: 500, isRefused: true } });
const broken = new SpockError('UNAVAILABLE', 'rpc error', { details: { status: 500 } });

interface Asked {
	/** Its queries so far. */
	readonly count: () => number;
	readonly watch: ConsulWatch;
	/** How the query that is under way ends. */
	readonly end: (how: SpockError | 'well') => Promise<void>;
}

function site(random: () => number = () => 1) {
	const clock = new FakeClock();
	const recovery = new WatchRecovery(clock, random);
	const start = (): Asked => {
		let count = 0;
		let settleQuery: (how: SpockError | 'well') => void = () => undefined;
		const watch = recovery.start<string>({
			fetch: () =>
				new Promise<FetchAnswer<string>>((resolve, reject) => {
					count++;
					settleQuery = (how) => (how === 'well' ? resolve({ value: 'a', index: count }) : reject(how));
				}),
			isSame: () => true,
			answered: () => undefined,
			failed: () => undefined,
		});
		return {
			watch,
			count: () => count,
			end: async (how) => {
				settleQuery(how);
				await settle();
			},
		};
	};
	return { clock, recovery, start };
}

/** Fails until its back-off is long. */
async function fails(clock: FakeClock, asked: Asked, error: SpockError, times = 9): Promise<void> {
	for (let failure = 0; failure < times; failure++) {
		await asked.end(error);
		const before = asked.count();
		while (failure < times - 1 && asked.count() === before) await clock.advance(250);
	}
}

describe('watches of one Consul', () => {
	it('the first that is answered again ends the back-offs of the others, within a quarter of a second', async () => {
		const { clock, start } = site();
		const [one, other, third] = [start(), start(), start()];
		for (const each of [one, other, third]) await fails(clock, each, denied);
		await clock.advance(30_000);
		await one.end('well');
		const before = [other.count(), third.count()];
		await other.end(denied);
		await third.end(denied);
		await clock.advance(2000);
		expect([other.count(), third.count()]).toEqual(before);
		await one.end(denied);
		await clock.advance(250);
		await one.end('well');
		await clock.advance(250);
		expect([other.count(), third.count()]).toEqual(before.map((count) => count + 1));
	});

	it('an answer to one that never failed ends the back-offs of those for whom Consul was away, and of no other', async () => {
		const { clock, start } = site();
		const [held, forbidden, bad, gone] = [start(), start(), start(), start()];
		for (let failure = 0; failure < 6; failure++) {
			for (const [asked, error] of [
				[forbidden, denied],
				[bad, refused],
				[gone, away],
			] as const)
				await asked.end(error);
			if (failure < 5) await clock.advance(8000);
		}
		const before = [forbidden, bad, gone].map(({ count }) => count());
		await held.end('well');
		await clock.advance(250);
		expect([forbidden, bad, gone].map(({ count }, number) => count() - (before[number] as number))).toEqual([0, 0, 1]);
	});

	it('while all are without Consul one of them tries each second, in turn', async () => {
		const { clock, start } = site();
		const all = [start(), start(), start()];
		for (const each of all) await fails(clock, each, away, 1);
		for (let failure = 0; failure < 40; failure++) {
			await clock.advance(250);
			for (const each of all) await each.end(away);
		}
		await clock.advance(5000);
		for (const each of all) await each.end(away);
		const before = all.map(({ count }) => count());
		for (let second = 0; second < 48; second++) {
			await clock.advance(250);
			for (const each of all) await each.end(away);
		}
		const tried = all.map(({ count }, number) => count() - (before[number] as number));
		const sum = tried.reduce((total, count) => total + count, 0);
		expect(sum).toBeGreaterThanOrEqual(9);
		expect(sum).toBeLessThanOrEqual(16);
		expect(Math.min(...tried)).toBeGreaterThanOrEqual(2);
	});

	it.each([
		['denied', denied],
		['refused', refused],
		['not to be answered', unknown],
	])('one that is %s for good is left to its back-off', async (_name, error) => {
		const { clock, start } = site();
		const one = start();
		await fails(clock, one, error);
		const before = one.count();
		await clock.advance(29_000);
		expect(one.count()).toBe(before);
	});

	it.each([
		['names an unknown datacenter', unknown, 0],
		['fails alone', broken, 1],
	])('the answers of others do not end the back-off of one that %s', async (_what, error, triedMax) => {
		const { clock, start } = site();
		const [busy, alone] = [start(), start()];
		await busy.end('well');
		await fails(clock, alone, error);
		const before = alone.count();
		for (let second = 0; second < 28; second++) {
			await busy.end('well');
			await clock.advance(1000);
			await alone.end(error);
		}
		expect(alone.count() - before).toBeLessThanOrEqual(triedMax);
		await clock.advance(30_000);
		expect(alone.count()).toBeGreaterThan(before);
	});

	it('an outage ends the back-off of one that failed alone before, as of any other', async () => {
		const { clock, start } = site();
		const [busy, alone] = [start(), start()];
		await busy.end('well');
		await fails(clock, alone, broken);
		await busy.end('well');
		await clock.advance(250);
		await alone.end(broken);
		await busy.end(away);
		await clock.advance(1000);
		const before = alone.count();
		await busy.end('well');
		await clock.advance(250);
		expect(alone.count()).toBe(before + 1);
	});

	it('one that Consul refuses does not keep the others from trying each second', async () => {
		const { clock, start } = site();
		const [one, other] = [start(), start()];
		await fails(clock, other, unknown);
		await fails(clock, one, away);
		const before = one.count();
		await clock.advance(1000);
		await clock.advance(250);
		expect(one.count()).toBe(before + 1);
	});

	it('a caller that waits has one tried that fails while others are answered; not one that Consul refuses', async () => {
		const { clock, start } = site();
		const [busy, alone, bad] = [start(), start(), start()];
		await busy.end('well');
		await fails(clock, bad, unknown, 8);
		await fails(clock, alone, broken, 3);
		const before = [alone.count(), bad.count()];
		alone.watch.retry();
		bad.watch.retry();
		await clock.advance(250);
		expect([alone.count(), bad.count()]).toEqual([(before[0] as number) + 1, before[1]]);
	});

	it('one that fails while others are held is left to its back-off', async () => {
		const { clock, start } = site();
		start();
		const one = start();
		await fails(clock, one, away);
		const before = one.count();
		await clock.advance(29_000);
		expect(one.count()).toBe(before);
	});

	it('stopped watches leave no timer, and are not tried', async () => {
		const { clock, start } = site();
		const all = [start(), start()];
		for (const each of all) await each.end(away);
		for (const { watch } of all) watch.stop();
		expect(clock.pendingTimers).toBe(0);
	});
});
