import { describe, expect, it } from 'vitest';

import { type LoneChannel, makeChannel, receive } from '../../test/lone-channel.ts';
import { BACKGROUND, makeTraits, PLAIN } from './outgoing-call.ts';

/** Replies to calls of this kind are cached by their text. */
const CACHED = makeTraits({ memoised: true, read: (data) => data });

describe('a drain', () => {
	it('of a channel without calls ends at once, and only once', () => {
		const { channel, emptied } = makeChannel();
		expect(emptied()).toBe(0);
		channel.drain();
		expect(emptied()).toBe(1);
		receive(channel, '{"id":1,"data":1}');
		receive(channel, '{"id":1,"error":{"code":"INTERNAL","message":"no"}}');
		expect(emptied()).toBe(1);
	});

	it.each<[string, (made: LoneChannel & { readonly stop: AbortController }) => void | Promise<void>]>([
		['its reply', ({ channel }) => receive(channel, '{"id":2,"data":1}')],
		['a reply that is cached', ({ channel }) => receive(channel, '{"id":2,"data":"known"}')],
		['a failure', ({ channel }) => receive(channel, '{"id":2,"error":{"code":"INTERNAL","message":"no"}}')],
		['its signal', ({ stop }) => stop.abort()],
		['its deadline', ({ clock }) => clock.advance(100)],
	])('ends once with the last call, which is ended by %s', async (_how, end) => {
		const made = makeChannel();
		const stop = new AbortController();
		const { channel, call, emptied } = made;
		void call(100, undefined, CACHED);
		receive(channel, '{"id":1,"data":"known"}');
		void call(100, stop.signal, CACHED);
		channel.drain();
		expect(emptied()).toBe(0);
		await end({ ...made, stop });
		expect([channel.inFlight, emptied()]).toEqual([0, 1]);
		receive(channel, '{"id":2,"data":"late"}');
		receive(channel, '{"id":2,"error":{"code":"INTERNAL","message":"late"}}');
		expect(emptied()).toBe(1);
	});

	it('waits for a call that only a call of the client itself keeps from the window', () => {
		const { channel, call, written, emptied } = makeChannel();
		channel.setWindow(1);
		void call(1000, undefined, BACKGROUND);
		void call();
		expect([channel.inFlight, channel.waiting]).toEqual([0, 1]);
		channel.drain();
		expect(emptied()).toBe(0);
		receive(channel, '{"id":1,"data":null}');
		expect(written).toHaveLength(2);
		expect(emptied()).toBe(0);
		receive(channel, '{"id":2,"data":1}');
		expect(emptied()).toBe(1);
	});

	it.each([false, true])(
		'waits for calls while pings go out although the window is full (narrowed: %s)',
		async (isNarrowed) => {
			const { channel, call, clock, written, emptied, idOf } = makeChannel();
			const calls = Array.from({ length: 4 }, (_, turn) => call(1000 + turn));
			if (isNarrowed) channel.setWindow(2);
			for (let turn = 0; turn < 12; turn++) void call(50, undefined, BACKGROUND);
			expect(written).toHaveLength(16);
			expect(Math.min(...written.map((line) => (JSON.parse(line) as { id: number }).id))).toBeGreaterThan(0);
			expect(channel.inFlight).toBe(4);
			channel.drain();
			await clock.advance(60);
			expect([channel.inFlight, emptied()]).toEqual([4, 0]);
			for (let turn = 0; turn < 4; turn++) receive(channel, `{"id":${idOf(turn)},"data":${turn}}`);
			expect(await Promise.all(calls)).toEqual([0, 1, 2, 3]);
			expect([channel.inFlight, emptied()]).toEqual([0, 1]);
		},
	);

	it('is forgotten when the channel ends: late frames do not report it', () => {
		const { channel, call, emptied } = makeChannel();
		void call();
		channel.drain();
		expect(channel.takeAll()).toHaveLength(1);
		receive(channel, '{"id":1,"error":{"code":"INTERNAL","message":"late"}}');
		expect(emptied()).toBe(0);
	});
});

describe('a narrowed window', () => {
	it('of an idle channel reports no end of a drain', () => {
		const { channel, call, emptied } = makeChannel();
		channel.setWindow(1);
		void call();
		receive(channel, '{"id":1,"data":1}');
		expect(emptied()).toBe(0);
	});

	it('sends one call for each that ends, and never more than it allows', async () => {
		const { channel, call, written, clock } = makeChannel();
		channel.setWindow(2);
		expect(channel.window).toBe(2);
		const calls = Array.from({ length: 5 }, () => call(1000));
		expect([written.length, channel.waiting]).toEqual([2, 3]);
		receive(channel, '{"id":1,"data":1}');
		expect([written.length, channel.waiting]).toEqual([3, 2]);
		receive(channel, '{"id":2,"error":{"code":"INTERNAL","message":"no"}}');
		expect([written.length, channel.waiting]).toEqual([4, 1]);
		await clock.advance(1000);
		await Promise.allSettled(calls);
		expect([channel.inFlight, channel.waiting, clock.pendingTimers]).toEqual([0, 0, 0]);
	});

	it('a call that is made by the end of another one does not overtake those that wait', () => {
		const { channel, send, written } = makeChannel();
		channel.setWindow(1);
		const again = makeTraits({ read: () => void send({ func: 'third' }) });
		void send({ func: 'first', traits: again });
		void send({ func: 'second' });
		for (const id of [1, 2]) receive(channel, `{"id":${id},"data":null}`);
		expect(written.map((line) => (JSON.parse(line) as { func: string }).func)).toEqual(['first', 'second', 'third']);
	});

	it('that is wide again refuses what is over it, as it did before', async () => {
		const { channel, call } = makeChannel();
		channel.setWindow(2);
		channel.setWindow(100);
		expect(channel.window).toBeNull();
		for (let turn = 0; turn < 4; turn++) void call();
		await expect(call()).rejects.toMatchObject({ code: 'OVERLOADED', details: { inFlightMax: 4 } });
		expect(channel.waiting).toBe(0);
	});

	it('names itself in the TIMEOUT of a call that waited, and is bounded by `waitingMax`', async () => {
		const { channel, call, clock } = makeChannel({ waitingMax: 1 });
		channel.setWindow(1);
		void call(1000);
		const waited = call(100);
		await expect(call()).rejects.toMatchObject({ code: 'OVERLOADED', details: { waitingMax: 1 } });
		await clock.advance(100);
		await expect(waited).rejects.toMatchObject({
			message: 'ping: no reply within 100 ms, because the sidecar has narrowed the window to 1 calls in flight',
			details: { sent: false },
		});
	});

	it('refuses what is over it where calls fail instead of waiting', async () => {
		const { channel, call } = makeChannel({ whileNarrowed: 'fail' });
		channel.setWindow(1);
		void call();
		await expect(call()).rejects.toMatchObject({ code: 'OVERLOADED', details: { inFlightMax: 1 } });
	});
});

describe('time-outs', () => {
	it('of one sweep are reported once, also when pings of the heartbeat are among them', async () => {
		const { call, clock, timeouts } = makeChannel();
		void call(50, undefined, BACKGROUND);
		void call(50, undefined, PLAIN);
		void call(50, undefined, PLAIN);
		await clock.advance(50);
		expect(timeouts()).toBe(1);
	});

	it('of staggered deadlines are swept at most every five milliseconds', async () => {
		const { call, clock } = makeChannel({ inFlightMax: 16 });
		const startMs = clock.now();
		const endedMs: number[] = [];
		for (let turn = 0; turn < 8; turn++) call(10 + turn).catch(() => endedMs.push(clock.now() - startMs));
		await clock.advance(100);
		expect(endedMs).toEqual([10, 15, 15, 15, 15, 15, 20, 20]);
	});
});
