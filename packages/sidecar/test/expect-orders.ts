import type { Events } from '@spock/client/events';
import { expect } from 'vitest';

/** Consumes the numbered orders of a stream up to the last one: each is there, once, in order. */
export async function expectOrders(events: Events<{ orders: number }>, count: number): Promise<void> {
	const seen: number[] = [];
	for await (const event of events.consume('orders', { group: 'billing', from: 'first' })) {
		seen.push(event.data);
		event.ack();
		if (event.data === count) break;
	}
	expect(seen).toEqual(Array.from({ length: count }, (_, index) => index + 1));
}
