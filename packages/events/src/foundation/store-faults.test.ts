import { SpockError } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { StoreFaults } from './store-faults.ts';

const AWAY = new SpockError('UNAVAILABLE', 'no server');

function create() {
	const clock = new FakeClock();
	const told: string[] = [];
	const faults = new StoreFaults(clock, {
		storeFailed: (stream) => told.push(`${stream} failed`),
		storeUnreadable: (stream, { message }) => told.push(`${stream} unreadable: ${message}`),
		storeWorks: (stream, failedMs) => told.push(`${stream} works after ${failedMs}`),
	});
	return { clock, told, faults };
}

describe('stores that cannot be used', () => {
	it('are reported once where they are read, shown while it lasts, and reported when they work again', () => {
		const { clock, told, faults } = create();
		for (let attempt = 0; attempt < 5; attempt++) {
			faults.read('orders', AWAY);
			clock.work(1000);
		}
		expect(told).toEqual(['orders unreadable: no server']);
		expect(faults.list()).toEqual([{ stream: 'orders', doing: 'reading', reason: 'no server', forMs: 5000 }]);
		faults.read('orders', null);
		faults.read('orders', null);
		expect(told.slice(1)).toEqual(['orders works after 5000']);
		expect(faults.list()).toEqual([]);
	});

	it('are reported at each failure where events are sent, and work once an event is stored, or none is left', () => {
		const { told, faults } = create();
		const states: string[] = [];
		const observer = faults.watching({ forwarding: (_stream, state) => states.push(state) });
		observer.storeFailed?.('orders', AWAY);
		observer.forwarding?.('orders', 'sending');
		observer.storeFailed?.('orders', AWAY);
		expect(faults.list()).toMatchObject([{ stream: 'orders', doing: 'sending' }]);
		observer.stored?.('orders', 1, 1);
		observer.storeFailed?.('clicks', AWAY);
		observer.forwarding?.('clicks', 'idle');
		expect(told).toEqual([
			...['orders failed', 'orders failed', 'orders works after 0'],
			...['clicks failed', 'clicks works after 0'],
		]);
		expect(states).toEqual(['sending', 'idle']);
	});

	it('are forgotten when nobody reads them, or has met the fault for two minutes', () => {
		const { clock, told, faults } = create();
		faults.read('orders', AWAY);
		faults.unread('orders');
		expect(faults.list()).toEqual([]);
		faults.read('orders', AWAY);
		clock.work(121_000);
		expect(faults.list()).toEqual([]);
		expect(told).toHaveLength(2);
	});

	it('are bounded: clients choose the names', () => {
		const { told, faults } = create();
		for (let stream = 0; stream < 1000; stream++) faults.read(`s${stream}`, AWAY);
		expect([faults.list().length, told.length]).toEqual([256, 256]);
	});
});
