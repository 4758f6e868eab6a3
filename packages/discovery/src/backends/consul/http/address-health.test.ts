import { FakeClock } from '@spock/testkit';
import { expect, it } from 'vitest';

import type { DiscoveryEvent } from '../../../foundation/discovery-event.ts';
import { AddressHealth, noLeaderIn } from './address-health.ts';

const URLS = ['http://a', 'http://b', 'http://c'];

function health() {
	const clock = new FakeClock();
	const events: DiscoveryEvent[] = [];
	return { clock, events, addresses: new AddressHealth(clock, URLS, (event) => events.push(event)) };
}

it('an address that never answered is untried, then down for as long as it fails, with its reason', async () => {
	const { clock, addresses } = health();
	expect(addresses.status(0)[1]).toEqual({
		...{ address: 'http://b', state: 'untried', isAsked: false },
		...{ lastSuccessAgeMs: null, error: null, failingForMs: null },
	});
	addresses.failed(1, 'refused', false);
	await clock.advance(5000);
	addresses.failed(1, 'still refused', false);
	expect(addresses.status(1)[1]).toMatchObject({
		...{ state: 'down', isAsked: true, lastSuccessAgeMs: null, error: 'still refused', failingForMs: 5000 },
	});
});

it('each outage of an address is reported once, and its end once', async () => {
	const { clock, addresses, events } = health();
	addresses.answered(0, true);
	addresses.failed(0, 'refused', false);
	addresses.failed(0, 'refused', false);
	await clock.advance(3000);
	addresses.answered(0, undefined);
	addresses.answered(0, true);
	expect(events).toEqual([
		{ type: 'address-failed', address: 'http://a', reason: 'refused' },
		{ type: 'address-recovered', address: 'http://a', outageMs: 3000 },
	]);
});

it('without a leader it stays so until an answer shows one: what an agent answers by itself does not', () => {
	const { addresses } = health();
	addresses.answered(0, false);
	addresses.answered(0, undefined);
	expect(addresses.status(0)[0]).toMatchObject({ state: 'no-leader', lastSuccessAgeMs: 0 });
	addresses.answered(0, true);
	expect(addresses.status(0)[0]).toMatchObject({ state: 'up', error: null });
});

it('no leader is known only if no address may have one', () => {
	const { addresses } = health();
	addresses.answered(0, false);
	addresses.failed(1, 'refused', false);
	expect(noLeaderIn(addresses.status(0))).toBeUndefined();
	addresses.failed(2, 'refused', false);
	expect(noLeaderIn(addresses.status(0))).toBe('no leader: http://a answers without one; http://b and http://c fail');
	addresses.answered(2, true);
	expect(noLeaderIn(addresses.status(0))).toBeUndefined();
});
