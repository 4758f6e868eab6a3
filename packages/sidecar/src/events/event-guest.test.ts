import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { EventGuest, type GuestService } from './event-guest.ts';

/** A service whose attempts to open fail when they are told to. */
function failingGuest() {
	const clock = new FakeClock();
	const attempts: (() => void)[] = [];
	const service = {
		open: () =>
			new Promise<void>((_, reject) => {
				attempts.push(() => reject(new Error('EIO')));
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
});
