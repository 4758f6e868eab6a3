import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import type { LogEvent } from '../foundation/log-record.ts';
import { ProducerTable } from './producer-table.ts';
import { StoredElsewhere } from './stored-elsewhere.ts';

/** A producer whose last event in `orders` is its third, at position 30. */
function house() {
	const table = new ProducerTable(new FakeClock(), () => false);
	const producer = table.begin('p', 2, 0);
	const place = Object.assign(producer.placeIn('orders'), { appended: 3, position: 30 });
	const told: string[] = [];
	const elsewhere = new StoredElsewhere(
		table,
		() => true,
		({ name }) => told.push(name),
	);
	return { place, told, elsewhere };
}

function event(seq: number, epoch: number): LogEvent {
	const origin = { kind: 'event', producer: 'p', epoch, seq, position: 10 * seq, time: 1 } as const;
	return { ...origin, stream: 'orders', key: undefined, id: undefined, text: '{}' };
}

describe('what stores elsewhere have acknowledged', () => {
	it('is told to the producer of these events, and not to a later epoch of it', () => {
		const { place, told, elsewhere } = house();
		elsewhere.stored('orders', [event(1, 1)]);
		expect([place.stored, told]).toEqual([0, []]);
		elsewhere.stored('orders', [event(1, 2), event(2, 2)]);
		expect([place.stored, told]).toEqual([2, ['p']]);
	});

	it('counts for a producer whose last event is reached, and for no other', () => {
		const { place, told, elsewhere } = house();
		elsewhere.reached('orders', 29);
		elsewhere.reached('clicks', 30);
		expect([place.stored, told]).toEqual([0, []]);
		elsewhere.reached('orders', 30);
		elsewhere.reached('orders', 31);
		expect([place.stored, told]).toEqual([3, ['p']]);
	});
});
