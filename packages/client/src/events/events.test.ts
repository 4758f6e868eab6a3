import { describe, expect, expectTypeOf, it } from 'vitest';

import { simulateEvents } from '../../test/events/simulated-events.ts';
import type { Diplomat } from '../diplomat.ts';
import type { Events } from './events.ts';
import { openEvents } from './open-events.ts';

interface Order {
	readonly total: number;
}

describe('types', () => {
	it('an unknown stream or another payload does not compile where streams are known', async () => {
		const { events: anything, diplomat } = await simulateEvents();
		expectTypeOf(anything.emit<string>)
			.parameter(1)
			.toBeUnknown();
		expectTypeOf(anything.publish<string>).returns.resolves.toBeVoid();
		const never = (given: Diplomat): void => {
			const events = openEvents<{ orders: Order; files: Uint8Array }>({ diplomat: given });
			expectTypeOf(events).toEqualTypeOf<Events<{ orders: Order; files: Uint8Array }>>();
			events.emit('orders', { total: 1 }, { key: 'k' });
			void events.publish('files', new Uint8Array(1), { until: 'stored', timeoutMs: 1 });
			// @ts-expect-error: no such stream
			events.emit('order', { total: 1 });
			// @ts-expect-error: another payload
			events.emit('orders', { total: '1' });
			// @ts-expect-error: no such level
			void events.publish('orders', { total: 1 }, { until: 'sent' });
			// @ts-expect-error: no such option
			events.emit('orders', { total: 1 }, { keyy: 'k' });
			// @ts-expect-error: a schema of an unknown stream
			openEvents<{ orders: Order }>({ diplomat: given, schemas: { order: undefined } });
		};
		expect(never).toBeTypeOf('function');
		await diplomat.close();
	});

	it.each([
		[{ highWaterBytes: 0 }, /^highWaterBytes must be an integer from 1 to 16777216, not 0/],
		[{ bufferBytesMax: 10 }, /^bufferBytesMax must be an integer from 1024/],
		[{ bufferEventsMax: 0 }, /^bufferEventsMax must be an integer from 1/],
		[{ stallMs: 0 }, /^stallMs must be an integer/],
		[{ drainTimeoutMs: 1.5 }, /^drainTimeoutMs must be an integer/],
		[{ producer: 'a b' }, /^producer must be 1 to 128 letters/],
		[{ schemas: { a: {} } }, /^schemas\.a must be a schema in the form of standardschema\.dev, not an object/],
		[{ schemas: 5 }, /^schemas must be an object, not 5/],
		[{ highWater: 5 }, /unknown option "highWater"/],
	])('%j throws at the call', async (options, message) => {
		const { diplomat } = await simulateEvents();
		expect(() => openEvents({ diplomat, ...(options as object) })).toThrow(message);
		await diplomat.close();
	});
});

describe('wrong calls', () => {
	it('throw at the call', async () => {
		const { diplomat, events } = await simulateEvents();
		expect(() => void events.publish('a', 1, { until: 'sent' as never })).toThrow(/^until must be one of accepted/);
		expect(() => void events.publish('a', 1, { timeoutMs: 0 })).toThrow(/^timeoutMs must be an integer/);
		expect(() => void events.flush({ until: 'accepted' as never })).toThrow(/^until must be one of persisted, stored/);
		expect(() => void events.flush({ signal: 1 as never })).toThrow(/^signal must be an AbortSignal/);
		expect(() => void events.room({ timeout: 1 } as never)).toThrow(/did you mean "timeoutMs"/);
		await diplomat.close();
	});
});
