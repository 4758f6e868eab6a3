import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import { wireError } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { createDiplomat } from '../../src/connect.ts';
import { openEvents } from '../../src/events/open-events.ts';
import type { EventEmittedMessage } from '../../src/foundation/event-diagnostics.ts';
import { ModelSidecar } from './model-sidecar.ts';
import { calm, simulateEvents } from './simulated-events.ts';

/** What a promise rejects with; fails if it does not. */
async function rejection(promise: Promise<unknown>): Promise<unknown> {
	return promise.then(
		() => expect.unreachable('it resolved'),
		(error: unknown) => error,
	);
}

describe('emit', () => {
	it('sends in order, on a connection of its own on which only hello is answered', async () => {
		const { events, sidecar, diplomat, clock } = await simulateEvents();
		expect(events.emit('clicks', { page: 1 })).toBe(true);
		expect(events.emit('orders', [2])).toBe(true);
		expect(events.emit('clicks', null)).toBe(true);
		await calm();
		expect(sidecar.taken.map(({ stream }) => stream)).toEqual(['clicks', 'orders', 'clicks']);
		expect(sidecar.payloads).toEqual([{ page: 1 }, [2], null]);
		expect(events.status()).toMatchObject({
			state: 'idle',
			accepted: 3,
			persisted: 3,
			kept: 0,
			keptBytes: 0,
			unsent: 0,
		});
		expect(sidecar.uplink).not.toBe(sidecar.callLine);
		expect(sidecar.uplink?.funcs).toEqual(['hello', 'uplink']);
		expect(sidecar.uplink?.written).toBeLessThan(150);
		await diplomat.drain();
		expect(clock.pendingTimers).toBe(0);
	});

	it('greets on the uplink as on the call line, but promises no sign of life', async () => {
		const { sidecar, diplomat } = await simulateEvents({ client: { token: 'secret', name: 'shop' } });
		const [first, second] = sidecar.connections.map(({ hello }) => hello);
		const { heartbeatMs, ...rest } = first ?? {};
		expect(heartbeatMs).toBe(1_000_000);
		expect(second).toEqual(rest);
		expect(rest).toMatchObject({ token: 'secret', client: 'shop', features: expect.arrayContaining(['events']) });
		await diplomat.close();
	});

	it('keeps what it is given while the sidecar is away, and encodes it at once', async () => {
		const { events, sidecar, diplomat, clock, network } = await simulateEvents({ away: true });
		const order = { total: 1 };
		events.emit('orders', order);
		order.total = 2;
		expect(events.status()).toMatchObject({ state: 'away', kept: 1, unsent: 1, epoch: null, window: null });
		network.away = false;
		await clock.advance(2000);
		await calm();
		expect(sidecar.payloads).toEqual([{ total: 1 }]);
		await diplomat.close();
	});

	it('carries what it is told, in the order that readers match fastest', async () => {
		const { events, sidecar, diplomat } = await simulateEvents();
		events.emit('orders', 1, { key: 'c-1', id: 'o"7', at: 5, version: 2, headers: { a: 'b' } });
		events.emit('orders', new Uint8Array([0, 1, 255]).subarray(1), { version: 1 });
		await calm();
		expect(sidecar.taken.map(({ data }) => data)).toEqual([
			{ stream: 'orders', key: 'c-1', id: 'o"7', at: 5, version: 2, headers: { a: 'b' }, payload: 1 },
			{ stream: 'orders', encoding: 'base64', payload: 'Af8=' },
		]);
		await diplomat.close();
	});

	it('returns false over the high-water mark and throws OVERLOADED when full, having accepted nothing', async () => {
		const { events, diplomat } = await simulateEvents({ away: true, highWaterBytes: 1000, bufferBytesMax: 2000 });
		const payload = 'x'.repeat(500);
		expect([1, 2, 3].map(() => events.emit('a', payload))).toEqual([true, false, false]);
		expect(() => events.emit('a', payload)).toThrow(
			expect.objectContaining({ code: 'OVERLOADED', message: expect.stringContaining('bufferBytesMax (2000)') }),
		);
		expect(events.status()).toMatchObject({ accepted: 3, kept: 3 });
		await diplomat.close();
	});

	it('counts events as well as bytes', async () => {
		const { events, diplomat } = await simulateEvents({ away: true, bufferEventsMax: 4 });
		expect([1, 2, 3, 4].map(() => events.emit('a', 0))).toEqual([true, true, false, false]);
		expect(() => events.emit('a', 0)).toThrow(expect.objectContaining({ code: 'OVERLOADED' }));
		await diplomat.close();
	});

	it('throws for what is no event, naming it', async () => {
		const { events, diplomat, sidecar } = await simulateEvents({ sidecar: new ModelSidecar({ eventBytesMax: 1000 }) });
		expect(() => events.emit('no spaces', 1)).toThrow(/^stream must be 1 to 128 letters.*"no spaces"/);
		expect(() => events.emit('a', undefined)).toThrow(/^payload must be a JSON value, not undefined/);
		for (const bytes of [
			new ArrayBuffer(1),
			new SharedArrayBuffer(1),
			new Float64Array(1),
			new DataView(new ArrayBuffer(1)),
		]) {
			expect(() => events.emit('a', bytes)).toThrow(
				/^payload must be a JSON value or a Uint8Array, such as new Uint8Array/,
			);
			expect(() => events.emit('a', bytes, { key: 'k' })).toThrow(TypeError);
		}
		expect(() => events.emit('a', () => 1, { key: 'k' })).toThrow(TypeError);
		expect(() => events.emit('a', 1n)).toThrow(TypeError);
		let deep: unknown = 1;
		for (let level = 0; level < 127; level++) deep = [deep];
		expect(() => events.emit('a', deep)).toThrow(/^payload must nest at most 126 levels/);
		expect(() => events.emit('a', deep, { key: 'k' })).toThrow(/^payload must nest at most 126 levels/);
		events.emit('a', (deep as unknown[])[0]);
		expect(() => events.emit('a', 'x'.repeat(1000))).toThrow(expect.objectContaining({ code: 'FRAME_TOO_LARGE' }));
		expect(() => events.emit('a', 1, { key: '' })).toThrow(/^key must be a string of 1 to 512 characters/);
		expect(() => events.emit('a', 1, { version: 0 })).toThrow(/^version must be an integer from 1/);
		expect(() => events.emit('a', 1, { headers: { a: 1 } as never })).toThrow(/^headers\.a must be a string/);
		expect(() => events.emit('a', 1, { keys: 'a' } as never)).toThrow(/did you mean "key"/);
		await calm();
		expect(sidecar.last).toBe(1);
		await diplomat.close();
	});

	it('checks payloads by the schema of their stream', async () => {
		const positive = (value: unknown) =>
			typeof value === 'number' && value > 0 ? { value: 'not this' } : { issues: [{ message: 'must be positive' }] };
		const schemas = { sums: { '~standard': { validate: positive } } };
		const { events, sidecar, diplomat } = await simulateEvents({ schemas });
		events.emit('sums', 5);
		expect(() => events.emit('sums', -5)).toThrow(
			expect.objectContaining({ code: 'BAD_VALUE', details: { stream: 'sums', issues: ['must be positive'] } }),
		);
		expect(() => void events.publish('sums', -5)).toThrow(expect.objectContaining({ code: 'BAD_VALUE' }));
		events.emit('others', -5);
		await calm();
		expect(sidecar.payloads).toEqual([5, -5]);
		await diplomat.close();
	});

	it('takes the trace of its caller from whoever traces', async () => {
		const { events, sidecar, diplomat } = await simulateEvents();
		const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
		const traces = [{ traceparent, tracestate: undefined }, { traceparent: 'broken"' }, undefined];
		const trace = (message: unknown): void => {
			(message as EventEmittedMessage).trace = traces.shift() as EventEmittedMessage['trace'];
		};
		subscribe('spock:client:event:emitted', trace);
		for (const payload of [1, 2, 3]) events.emit('a', payload);
		unsubscribe('spock:client:event:emitted', trace);
		await calm();
		expect(sidecar.taken.map(({ data }) => data['traceparent'])).toEqual([traceparent, undefined, undefined]);
		await diplomat.close();
	});
});

describe('the window', () => {
	it('bounds what is sent and not persisted; the rest waits for it in order', async () => {
		const sidecar = new ModelSidecar({ acks: false, window: { bytes: 100, events: 10 } });
		const { events, diplomat } = await simulateEvents({ sidecar });
		for (let n = 0; n < 6; n++) events.emit('a', 'x'.repeat(n));
		await calm();
		const bytes = (n: number): number => '{"stream":"a","payload":""}'.length + n;
		expect(bytes(0) + bytes(1) + bytes(2)).toBeLessThanOrEqual(100);
		expect(sidecar.last).toBe(3);
		expect(events.status()).toMatchObject({ state: 'blocked', kept: 6, unsent: 3, window: { bytes: 100, events: 10 } });
		sidecar.persist(1);
		await calm();
		expect(sidecar.last).toBe(4);
		sidecar.setWindow(1000);
		await calm();
		expect(sidecar.last).toBe(6);
		expect(sidecar.frames).toBe(6);
		sidecar.setWindow(0, 'the disk is full');
		await calm();
		events.emit('a', 7);
		sidecar.persist();
		await calm();
		expect(sidecar.last).toBe(6);
		expect(events.status()).toMatchObject({ state: 'blocked', kept: 1, reason: 'the disk is full' });
		sidecar.setWindow(10);
		await calm();
		expect(sidecar.last, 'one event fits into any open window').toBe(7);
		await diplomat.close();
	});

	it('that is pushed while the uplink is still being greeted counts', async () => {
		const sidecar = new ModelSidecar({ acks: false, window: { bytes: 0, events: 0 }, holdsUplinks: true });
		const { events, diplomat } = await simulateEvents({ sidecar });
		events.emit('a', 1);
		sidecar.setWindow(1000);
		await calm();
		expect(events.status().state).toBe('opening');
		sidecar.greetUplinks();
		await calm();
		expect(sidecar.last).toBe(1);
		await diplomat.close();
	});
});

describe('publish', () => {
	it('resolves at its level', async () => {
		const sidecar = new ModelSidecar({ acks: false });
		const { events, diplomat, clock } = await simulateEvents({ sidecar });
		const order: string[] = [];
		for (const until of ['stored', 'persisted', 'accepted'] as const) {
			void events.publish('a', until, { until, timeoutMs: 10_000 }).then(() => order.push(until));
		}
		const flushed = events.flush({ until: 'stored' }).then(() => order.push('flush'));
		await calm();
		expect(order).toEqual(['accepted']);
		sidecar.persist();
		await calm();
		expect(order).toEqual(['accepted', 'persisted']);
		sidecar.store('a');
		await flushed;
		expect(order).toEqual(['accepted', 'persisted', 'stored', 'flush']);
		expect(events.status().stored).toEqual({ a: 3 });
		await diplomat.close();
		expect(clock.pendingTimers).toBe(0);
	});

	it('rejects with the code of a refusal; the others go on', async () => {
		const sidecar = new ModelSidecar({ acks: false });
		const { events, diplomat } = await simulateEvents({ sidecar });
		const calls = ['a', 'b', 'b'].map((stream) => events.publish(stream, 1));
		const refused = rejection(calls[1] as Promise<void>);
		await calm();
		sidecar.persist(3, [{ seq: 2, code: 'BAD_REQUEST' }]);
		expect(await refused).toMatchObject({
			code: 'BAD_REQUEST',
			message: expect.stringContaining('because'),
			details: { stream: 'b', seq: 2 },
		});
		await Promise.all([calls[0], calls[2]]);
		expect(events.status()).toMatchObject({ refused: 1, persisted: 3, kept: 0 });
		await diplomat.close();
	});

	it('until stored rejects with the code of the store that refused it, once, also where that is told again', async () => {
		const sidecar = new ModelSidecar({ acks: false });
		const { events, diplomat } = await simulateEvents({ sidecar });
		const persisted = events.publish('a', 1);
		const refused = rejection(events.publish('a', 2, { until: 'stored' }));
		const stored = events.publish('a', 3, { until: 'stored' });
		await calm();
		sidecar.persist(3);
		await persisted;
		const refusedByStore = [1, 2].map((seq) => ({ seq, code: 'FRAME_TOO_LARGE', message: 'too large' }));
		sidecar.tell('acked', { persisted: 3, refusedByStore });
		expect(await refused).toMatchObject({
			code: 'FRAME_TOO_LARGE',
			message: 'an event was refused: too large',
			details: { stream: 'a', seq: 2 },
		});
		sidecar.tell('acked', { persisted: 3, stored: { a: 3 }, refusedByStore });
		await stored;
		await diplomat.close();
	});

	it('a flush until stored does not wait for what was refused', async () => {
		const sidecar = new ModelSidecar({ acks: false });
		const { events, diplomat } = await simulateEvents({ sidecar });
		events.emit('a', 1);
		events.emit('a', 2);
		const flushed = events.flush({ until: 'stored' });
		await calm();
		sidecar.persist(2, [{ seq: 2, code: 'BAD_REQUEST' }]);
		sidecar.tell('acked', { persisted: 2, stored: { a: 1 } });
		await flushed;
		await diplomat.close();
	});

	it('that times out or is aborted says how far it came, and the event is still sent', async () => {
		const sidecar = new ModelSidecar({ acks: false, window: { bytes: 1000, events: 1 } });
		const { events, diplomat, clock } = await simulateEvents({ sidecar });
		const abort = new AbortController();
		const sent = rejection(events.publish('a', 1, { timeoutMs: 100 }));
		const accepted = rejection(events.publish('a', 2, { signal: abort.signal }));
		const flushed = rejection(events.flush({ timeoutMs: 100 }));
		await calm();
		abort.abort('enough');
		await clock.advance(100);
		expect(await sent).toMatchObject({ code: 'TIMEOUT', details: { stream: 'a', seq: 1, reached: 'sent' } });
		expect(await accepted).toMatchObject({
			code: 'ABORTED',
			cause: 'enough',
			details: { seq: 2, reached: 'accepted' },
		});
		expect(await flushed).toMatchObject({ code: 'TIMEOUT', details: { accepted: 2, persisted: 0, stored: { a: 0 } } });
		sidecar.persist();
		await calm();
		expect(sidecar.payloads).toEqual([1, 2]);
		expect(await rejection(events.publish('a', 3, { signal: abort.signal }))).toMatchObject({ code: 'ABORTED' });
		expect(events.status().accepted).toBe(2);
		await diplomat.close();
	});

	it('that times out says why nothing is taken: the log cannot be opened, or is full', async () => {
		const sidecar = new ModelSidecar({ acks: false });
		const error = wireError('UNAVAILABLE', true);
		sidecar.refuses = { ...error, message: 'events are not taken: EROFS' };
		const { events, diplomat, clock } = await simulateEvents({ sidecar });
		const unopened = rejection(events.publish('a', 1, { timeoutMs: 100 }));
		await calm();
		await clock.advance(100);
		expect(await unopened).toMatchObject({
			code: 'TIMEOUT',
			message: expect.stringContaining('because events are not taken: EROFS; the event stays in the buffer'),
			details: { timeoutMs: 100, reason: 'events are not taken: EROFS' },
		});
		sidecar.refuses = undefined;
		await clock.advance(60_000);
		sidecar.setWindow(0, 'the log is full');
		const full = rejection(events.flush({ timeoutMs: 100 }));
		await calm();
		await clock.advance(100);
		expect(await full).toMatchObject({ code: 'TIMEOUT', details: { reason: 'the log is full' } });
		await diplomat.close();
	});

	it('waits for room, in order, and is not accepted when its time is over before that', async () => {
		const sidecar = new ModelSidecar({ acks: false });
		const { events, diplomat, clock } = await simulateEvents({ sidecar, highWaterBytes: 100 });
		expect(events.emit('a', 'x'.repeat(100))).toBe(false);
		const late = rejection(events.publish('a', 'late', { timeoutMs: 50 }));
		const calls = [events.publish('a', 1), events.publish('a', 2)];
		const room = events.room();
		expect(events.status()).toMatchObject({ accepted: 1, waiting: 3 });
		await clock.advance(50);
		expect(await late).toMatchObject({ code: 'TIMEOUT', details: { reached: null, seq: null } });
		sidecar.persist();
		await room;
		await calm();
		sidecar.persist();
		await Promise.all(calls);
		expect(sidecar.payloads.slice(1)).toEqual([1, 2]);
		await diplomat.close();
	});

	it('waits for room no longer than until the next emit, which is behind it', async () => {
		const sidecar = new ModelSidecar({ acks: false });
		const { events, diplomat } = await simulateEvents({ sidecar, highWaterBytes: 100 });
		expect(events.emit('a', 'x'.repeat(100))).toBe(false);
		const calls = [events.publish('a', 1), events.publish('a', 2)];
		events.emit('a', 3);
		expect(events.status()).toMatchObject({ accepted: 4, waiting: 0 });
		await calm();
		sidecar.persist();
		await Promise.all(calls);
		expect(sidecar.payloads.slice(1)).toEqual([1, 2, 3]);
		await diplomat.close();
	});

	it('at a sidecar without events names the setting when its time is over', async () => {
		const sidecar = new ModelSidecar({ features: ['push'] });
		const { events, diplomat, clock } = await simulateEvents({ sidecar });
		const call = rejection(events.publish('a', 1));
		await clock.advance(5000);
		expect(await call).toMatchObject({ code: 'UNKNOWN_FUNC', message: expect.stringContaining('--events DIR') });
		expect(events.status()).toMatchObject({
			state: 'away',
			kept: 1,
			lastError: expect.stringContaining('--events DIR'),
		});
		expect(sidecar.connections).toHaveLength(1);
		expect(sidecar.callLine).toBe(undefined);
		await diplomat.close();
	});

	it('is sent again to a sidecar that refuses its producer for now', async () => {
		const sidecar = new ModelSidecar();
		sidecar.refuses = wireError('UNAVAILABLE', true);
		const { events, diplomat, clock } = await simulateEvents({ sidecar });
		const call = events.publish('a', 1);
		await clock.advance(1000);
		expect(events.status().lastError).toContain('UNAVAILABLE');
		sidecar.refuses = undefined;
		await clock.advance(2000);
		await call;
		await diplomat.close();
	});
});

describe('a lost connection', () => {
	it('is made again, and everything that is not persisted is sent again, once', async () => {
		const sidecar = new ModelSidecar({ acks: false });
		const { events, diplomat, clock } = await simulateEvents({ sidecar });
		for (let n = 1; n <= 5; n++) events.emit('a', n);
		await calm();
		sidecar.persisted = 2;
		sidecar.drop();
		await calm();
		expect(events.status().state).toBe('away');
		events.emit('a', 6);
		await clock.advance(2000);
		await calm();
		sidecar.persist();
		await calm();
		expect(sidecar.payloads).toEqual([1, 2, 3, 4, 5, 6]);
		expect(sidecar.frames).toBe(5 + 4);
		expect(events.status()).toMatchObject({ state: 'idle', persisted: 6 });
		await diplomat.close();
	});

	it('of the uplink alone is made again on the same call line', async () => {
		const sidecar = new ModelSidecar({ acks: false });
		const { events, diplomat, clock } = await simulateEvents({ sidecar });
		events.emit('a', 1);
		await calm();
		const { callLine } = sidecar;
		sidecar.uplink?.stream.destroy();
		await calm();
		expect(events.status().state).toBe('away');
		await clock.advance(2000);
		await calm();
		expect(events.status().state).toBe('can send');
		expect(sidecar.callLine).toBe(callLine);
		expect(sidecar.openings).toBe(2);
		await diplomat.close();
	});

	it('after a goaway the successor gets what the first has not persisted', async () => {
		const sidecar = new ModelSidecar({ acks: false });
		const { events, diplomat, clock } = await simulateEvents({ sidecar });
		events.emit('a', 1);
		await calm();
		sidecar.goaway();
		await clock.advance(2000);
		await calm();
		expect(sidecar.openings).toBe(2);
		events.emit('a', 2);
		await calm();
		sidecar.persist();
		await calm();
		expect(sidecar.payloads).toEqual([1, 2]);
		expect(events.status()).toMatchObject({ state: 'idle', persisted: 2 });
		await diplomat.close();
	});

	it('without progress for stallMs the uplink is replaced, but not while the window is 0', async () => {
		const sidecar = new ModelSidecar({ acks: false });
		const { events, diplomat, clock } = await simulateEvents({ sidecar, stallMs: 1000 });
		events.emit('a', 1);
		await calm();
		sidecar.setWindow(0);
		await clock.advance(5000);
		expect(sidecar.openings).toBe(1);
		sidecar.setWindow(1000);
		await clock.advance(1000);
		await calm();
		expect(sidecar.openings).toBe(2);
		expect(sidecar.frames).toBe(2);
		expect(events.status().lastError).toContain('persisted nothing for 1000 ms');
		sidecar.persist();
		await calm();
		await clock.advance(5000);
		expect(sidecar.openings).toBe(2);
		await diplomat.close();
		expect(clock.pendingTimers).toBe(0);
	});

	it('to one that says what cannot be is reported, and nothing is sent', async () => {
		const sidecar = new ModelSidecar();
		sidecar.persisted = 7;
		const { events, diplomat } = await simulateEvents({ sidecar });
		events.emit('a', 1);
		await calm();
		expect(sidecar.last).toBe(0);
		expect(events.status()).toMatchObject({ state: 'away', lastError: expect.stringContaining('events up to 7') });
		await diplomat.close();
	});
});

describe('the end', () => {
	it('a drain of the client lets events leave before its connection, and takes no new ones', async () => {
		const sidecar = new ModelSidecar({ acks: false });
		const { events, diplomat, clock } = await simulateEvents({ sidecar, highWaterBytes: 100 });
		events.emit('a', 'x'.repeat(100));
		const waiting = events.publish('a', 2);
		const drained = diplomat.drain();
		expect(() => events.emit('a', 3)).toThrow(expect.objectContaining({ code: 'CLOSED' }));
		await calm();
		expect(events.status().state).not.toBe('ended');
		sidecar.persist();
		await calm();
		sidecar.persist();
		await Promise.all([waiting, drained]);
		expect(events.status()).toMatchObject({ state: 'ended', persisted: 2 });
		expect(clock.pendingTimers).toBe(0);
		await events.drain();
	});

	it('a drain that is late rejects with what is given up, and the client ends all the same', async () => {
		const sidecar = new ModelSidecar({ acks: false });
		const { events, diplomat, clock } = await simulateEvents({ sidecar, drainTimeoutMs: 100 });
		const call = rejection(events.publish('a', 1));
		await calm();
		const drained = rejection(diplomat.drain());
		await clock.advance(100);
		expect(await drained).toMatchObject({ code: 'TIMEOUT', details: { kept: 1, persisted: 0, accepted: 1 } });
		expect(await call).toMatchObject({ code: 'CLOSED', details: { reached: 'sent' } });
		expect(await diplomat.closed).toEqual({ reason: 'drain' });
		expect(clock.pendingTimers).toBe(0);
	});

	it('a drain survives the loss of the sidecar', async () => {
		const sidecar = new ModelSidecar({ acks: false });
		const { events, diplomat, clock } = await simulateEvents({ sidecar });
		events.emit('a', 1);
		await calm();
		const drained = diplomat.drain();
		sidecar.drop();
		sidecar.acks = true;
		sidecar.persisted = 1;
		await clock.advance(2000);
		await drained;
		expect(events.status()).toMatchObject({ state: 'ended', persisted: 1 });
	});

	it('a drain waits for who waits for a store', async () => {
		const sidecar = new ModelSidecar();
		const { events, diplomat } = await simulateEvents({ sidecar });
		const call = events.publish('a', 1, { until: 'stored' });
		await calm();
		const drained = diplomat.drain();
		await calm();
		expect(events.status().state).toBe('ended');
		expect(diplomat.status().state).toBe('ready');
		sidecar.store('a');
		await Promise.all([call, drained]);
	});

	it('a close rejects everybody, cuts a drain short, and leaves nothing behind', async () => {
		const sidecar = new ModelSidecar({ acks: false });
		const { events, diplomat, clock } = await simulateEvents({ sidecar, highWaterBytes: 10 });
		const calls = [events.publish('a', 'some text'), events.publish('a', 2), events.room(), events.flush()].map(
			rejection,
		);
		const drained = rejection(events.drain());
		await calm();
		await events.close();
		for (const error of await Promise.all([...calls, drained])) expect(error).toMatchObject({ code: 'CLOSED' });
		expect(await rejection(events.publish('a', 1))).toMatchObject({ code: 'CLOSED' });
		await calm();
		expect(sidecar.uplink?.stream.destroyed).toBe(true);
		expect(diplomat.status().state).toBe('ready');
		await diplomat.close();
		expect(clock.pendingTimers).toBe(0);
	});

	it('of its own leaves the client as it was', async () => {
		const { events, diplomat, sidecar } = await simulateEvents();
		events.emit('a', 1);
		await events[Symbol.asyncDispose]();
		sidecar.drop();
		await calm();
		expect(await diplomat.drain()).toBe(undefined);
	});

	it('without a sidecar there is nobody to take events', async () => {
		const { diplomat } = await simulateEvents();
		await diplomat.close();
		expect(() => openEvents({ diplomat })).toThrow(expect.objectContaining({ code: 'CLOSED' }));
		expect(() => openEvents({ diplomat: {} as never })).toThrow(/^diplomat must be a client/);
		const source = { name: 'none', close: async () => undefined } as never;
		const direct = createDiplomat({ source });
		expect(() => openEvents({ diplomat: direct })).toThrow(expect.objectContaining({ code: 'UNKNOWN_FUNC' }));
		await direct.close();
	});
});
