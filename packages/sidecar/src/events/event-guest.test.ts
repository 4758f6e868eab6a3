import { SpockError } from '@spock/protocol';
import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import type { EventLine } from '../connection/event-session.ts';
import { EventGuest, type GuestService } from './event-guest.ts';

/** A service whose attempts to open fail when they are told to. */
function failingGuest(error: Error = new Error('EIO')) {
	const clock = new FakeClock();
	const attempts: (() => void)[] = [];
	const service = {
		open: () =>
			new Promise<void>((_, reject) => {
				attempts.push(() => reject(error));
			}),
		handOver: () => Promise.resolve(),
		close: () => Promise.resolve(),
	} as unknown as GuestService;
	const options = { serve: () => service, directory: '/log', drainMs: 0 };
	const guest = new EventGuest({ clock, random: () => 0.5, defer: setImmediate }, options);
	return { guest, clock, attempts };
}

describe('the events of a sidecar', () => {
	it('try again to open their log after a failure', async () => {
		const { guest, clock, attempts } = failingGuest();
		guest.open(true);
		attempts[0]?.();
		await settle();
		await clock.advance(10_000);
		expect(attempts).toHaveLength(2);
	});

	it.each(['resolves', 'rejects'])(
		'open their log anew where it is still being read ahead, which then %s',
		async (how) => {
			const opened: number[] = [];
			let served = 0;
			let endRead: () => void = () => undefined;
			const serve = (): GuestService => {
				const number = ++served;
				return {
					readAhead: () =>
						new Promise<void>((resolve, reject) => {
							endRead = how === 'resolves' ? resolve : () => reject(new Error('EIO'));
						}),
					open: async () => void opened.push(number),
					status: () => ({ state: 'receiving', number }),
				} as unknown as GuestService;
			};
			const guest = new EventGuest(
				{ clock: new FakeClock(), random: () => 0.5, defer: setImmediate },
				{ serve, directory: '/log', drainMs: 0 },
			);
			const read = guest.readAhead();
			guest.open(false);
			await settle();
			endRead();
			await read;
			expect(opened).toEqual([2]);
			expect(guest.status()).toMatchObject({ number: 2 });
		},
	);

	it('refuse an uplink while they are being opened; that they cannot be opened then is no fault', async () => {
		const { guest, attempts } = failingGuest();
		guest.open(false);
		const session = guest.session({} as EventLine);
		expect(session.uplink({ ticket: 'of-another-life' })).toBeUndefined();
		attempts[0]?.();
		// A rejection that nobody handles would fail this run.
		await settle();
		await new Promise((resolve) => setImmediate(resolve));
		expect(guest.status()).toMatchObject({ state: 'failed' });
	});

	it.each(['handOver', 'close'] as const)(
		'claim a log that another one has for a moment, and %s ends that',
		async (end) => {
			const { guest, clock, attempts } = failingGuest(
				new SpockError('UNAVAILABLE', 'taken', { details: { path: '/o' } }),
			);
			guest.open(false);
			attempts[0]?.();
			await settle();
			expect(guest.status()).toMatchObject({ state: 'opening' });
			await clock.advance(25);
			expect(attempts).toHaveLength(2);
			attempts[1]?.();
			await settle();
			expect(clock.pendingTimers).toBe(1);
			await guest[end]();
			await settle();
			expect(clock.pendingTimers).toBe(0);
			expect(guest.status().state).not.toBe('opening');
			expect(attempts).toHaveLength(2);
		},
	);

	it.each(['handOver', 'close'] as const)(
		'do not wait for a log that another one has when %s came during the attempt',
		async (end) => {
			const { guest, clock, attempts } = failingGuest(
				new SpockError('UNAVAILABLE', 'taken', { details: { path: '/o' } }),
			);
			guest.open(false);
			await guest[end]();
			attempts[0]?.();
			await settle();
			expect(clock.pendingTimers).toBe(0);
			expect(guest.status().state).not.toBe('opening');
			expect(attempts).toHaveLength(1);
		},
	);

	it('do not claim their log again, once it was handed over, when the attempt under way fails', async () => {
		const { guest, clock, attempts } = failingGuest();
		guest.open(true);
		await guest.handOver();
		attempts[0]?.();
		await settle();
		await clock.advance(60_000);
		expect(attempts).toHaveLength(1);
		expect(guest.status()).toMatchObject({ state: 'failed' });
	});

	it('open their log again when it was lost, but never take it from another one', async () => {
		const clock = new FakeClock();
		const opened: boolean[] = [];
		const lost: ((reason: SpockError) => void)[] = [];
		const retired: number[] = [];
		const serve = (whenLost: (reason: SpockError) => void): GuestService => {
			const number = lost.push(whenLost);
			return {
				open: async (takeOver: boolean) => void opened.push(takeOver),
				status: () => ({ state: 'receiving' }),
				retire: () => void retired.push(number),
				close: () => Promise.resolve(),
			} as unknown as GuestService;
		};
		const guest = new EventGuest(
			{ clock, random: () => 0.5, defer: setImmediate },
			{ serve, directory: '/log', drainMs: 0 },
		);
		guest.open(true);
		await settle();
		lost[0]?.(new SpockError('UNAVAILABLE', 'it was moved'));
		expect(guest.status()).toMatchObject({ state: 'failed', reason: expect.stringContaining('it was moved') });
		expect(retired).toEqual([]);
		await clock.advance(10_000);
		expect(opened).toEqual([true, false]);
		expect(guest.status()).toMatchObject({ state: 'receiving' });
		expect(retired).toEqual([1]);
		await guest.close();
		lost[1]?.(new SpockError('UNAVAILABLE', 'it ended'));
		expect(clock.pendingTimers).toBe(0);
	});
});
