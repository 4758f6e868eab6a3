import { describe, expect, expectTypeOf, it } from 'vitest';

import { calm, simulateEvents } from '../../test/events/simulated-events.ts';
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
			const text = { '~standard': { validate: () => ({ value: 'text' }) } };
			openEvents<{ orders: string }>({ diplomat: given, schemas: { orders: text } });
			// @ts-expect-error: a schema of another payload
			openEvents<{ orders: Order }>({ diplomat: given, schemas: { orders: text } });
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
		[{ upgrade: 5 }, /^upgrade must be an object, not 5/],
		[{ upgrade: { a: 5 } }, /^upgrade\.a must be an object of functions by version, from 1, not 5/],
		[{ upgrade: { a: { 0: () => 1 } } }, /^upgrade\.a must be an object of functions by version/],
		[{ upgrade: { a: { 1: 'new' } } }, /^upgrade\.a must be an object of functions by version/],
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
		expect(() => events.emit('a', 1, { headers: 5 as never })).toThrow(/^headers must be an object, not 5/);
		expect(() => events.emit('a', 1, { headers: { '': 'x' } })).toThrow(/^headers must be an object with names of 1/);
		const many = Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`h${n}`, 'x']));
		expect(() => events.emit('a', 1, { headers: many })).toThrow(/^headers must have at most 32 members, not 33/);
		expect(() => void events.handle('a', {}, 5 as never)).toThrow(/^handler must be a function, not 5/);
		const wrongDelay = { retryDelayMs: 5 as never };
		expect(() => void events.handle('a', wrongDelay, () => 1)).toThrow(/^retryDelayMs must be a function of .*, not 5/);
		expect(() => events.consume('a', { inFlightMax: 0 })).toThrow(
			/inFlightMax must be an integer from 1 to 4096, not 0/,
		);
		await diplomat.close();
	});
});

describe('a misspelt member', () => {
	it.each([
		['filter', { filter: { kyes: ['a'] } }, /data\.filter\.kyes is no condition; did you mean "keys"\?/],
		['from', { from: { positon: 5 } }, /data\.from must be "new", "first"/],
		['from, beside another', { from: { position: 5, tim: 6 } }, /data\.from must be "new", "first"/],
		['option', { fliter: {} }, /unknown option "fliter"; did you mean "filter"\?/],
	])('of a consumer (%s) throws at the call', async (_, options, message) => {
		const { diplomat, events } = await simulateEvents();
		expect(() => events.consume('a', options as never)).toThrow(message);
		expect(() => void events.handle('a', options as never, () => 1)).toThrow(message);
		await diplomat.close();
	});

	it('of what is published, or waited for, throws at the call, with all that it may be', async () => {
		const { diplomat, events } = await simulateEvents();
		expect(() => events.emit('a', 1, { headrs: {} } as never)).toThrow(/did you mean "headers"/);
		expect(() => void events.publish('a', 1, { untill: 'stored' } as never)).toThrow(/did you mean "until"/);
		expect(() => void events.publish('a', 1, { timeout: 5 } as never)).toThrow(/did you mean "timeoutMs"/);
		expect(() => void events.flush({ untill: 'stored' } as never)).toThrow(/did you mean "until"/);
		await diplomat.close();
	});
});

describe('a block that has events', () => {
	it('drains them when it is left', async () => {
		const { diplomat, events, sidecar } = await simulateEvents();
		{
			await using own = events;
			own.emit('a', 1);
		}
		expect(sidecar.payloads).toEqual([1]);
		expect(() => events.emit('a', 2)).toThrow(expect.objectContaining({ code: 'CLOSED' }));
		await diplomat.close();
	});
});

describe('limits', () => {
	it('of streams: is named where it refuses', async () => {
		const { diplomat, events } = await simulateEvents();
		for (let stream = 0; stream < 4096; stream++) events.emit(`s${stream}`, 1);
		expect(() => events.emit('one-more', 1)).toThrow(expect.objectContaining({ code: 'OVERLOADED' }));
		expect(() => events.emit('one-more', 1)).toThrow(/streamsMax/);
		await diplomat.close();
	});

	it('of callers that wait: is named where it refuses; who has nothing to wait for does not count', async () => {
		const { diplomat, events, network, sidecar } = await simulateEvents();
		await events.room();
		await events.flush();
		network.away = true;
		sidecar.drop();
		await calm();
		events.emit('a', 1);
		const waiting = Array.from({ length: 1024 }, () => events.flush().catch((error: unknown) => error));
		await expect(events.flush()).rejects.toMatchObject({
			code: 'OVERLOADED',
			message: expect.stringContaining('1024'),
		});
		await diplomat.close();
		expect(await Promise.all(waiting)).toHaveLength(1024);
		expect(await waiting[1023]).toMatchObject({
			code: 'CLOSED',
			details: { accepted: 1, persisted: 0, stored: { a: 0 } },
		});
	});
});
