import { getEventListeners } from 'node:events';

import { encodeTrace, readClientMessage, SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { makeChannel, receive } from '../../test/lone-channel.ts';
import { ADDRESS } from '../snapshots/subscription-kind.ts';
import { BACKGROUND, makeTraits, PLAIN } from './outgoing-call.ts';

describe('RequestChannel', () => {
	it('matches replies by id, in any order', async () => {
		const { channel, call } = makeChannel();
		const [first, second] = [call(), call()];
		receive(channel, '{"id":2,"data":"b"}');
		receive(channel, '{"data":"a","id":1}');
		expect(await Promise.all([first, second])).toEqual(['a', 'b']);
		expect(channel.inFlight).toBe(0);
	});

	it('a late reply after a time-out disturbs nobody, and the sidecar is told to stop', async () => {
		const { channel, clock, call, written, faults, reasons } = makeChannel({ inFlightMax: 1 });
		channel.sendsCancel = true;
		const late = call(100);
		await clock.advance(100);
		await expect(late).rejects.toMatchObject({
			code: 'TIMEOUT',
			message: expect.stringMatching(
				/^ping: no reply within 100 ms; the sidecar at \/nowhere is connected.*check its log/,
			),
			details: { func: 'ping', timeoutMs: 100, sent: true },
		});
		expect(written[1]).toBe('{"func":"cancel","data":{"id":1}}\n');
		const next = call(100);
		receive(channel, '{"id":1,"data":"of the first"}');
		receive(channel, '{"id":2,"data":"of the second"}');
		expect(await next).toBe('of the second');
		receive(channel, '{"id":2,"error":{"code":"INTERNAL","message":"late"}}');
		expect(faults).toEqual(['late reply', 'late reply']);
		expect(reasons).toEqual(['a reply to 1, which no call waits for', 'a failure of 2, which no call waits for']);
	});

	it('ids wrap past a busy slot: the old call keeps its own reply and deadline', async () => {
		const { channel, clock, call, idOf } = makeChannel({ inFlightMax: 2, firstId: 0xffffffff });
		const old = call(1000);
		const ids = [idOf(0)];
		for (let turn = 1; turn < 6; turn++) {
			const next = call(10);
			ids.push(idOf(turn));
			receive(channel, `{"id":${idOf(turn)},"data":${turn}}`);
			expect(await next).toBe(turn);
		}
		expect(ids.slice(0, 2)).toEqual([0xffffffff, 0]);
		expect(new Set(ids).size).toBe(ids.length);
		await clock.advance(500);
		receive(channel, `{"id":${0xffffffff},"data":"old"}`);
		expect(await old).toBe('old');
	});

	it('with every slot busy the next call is OVERLOADED at once, and harms no other', async () => {
		const { channel, call } = makeChannel();
		const calls = [call(), call(), call(), call()];
		await expect(call()).rejects.toMatchObject({ code: 'OVERLOADED', details: { inFlightMax: 4 } });
		for (const id of [1, 2, 3, 4]) receive(channel, `{"id":${id},"data":${id}}`);
		expect(await Promise.all(calls)).toEqual([1, 2, 3, 4]);
	});

	it('what this client sends for itself has a bound too', async () => {
		const { channel, call, written } = makeChannel();
		const calls = Array.from({ length: 40 }, () => call(1000, undefined, BACKGROUND));
		await expect(calls.at(-1)).rejects.toMatchObject({ code: 'OVERLOADED', details: { inFlightMax: 4 } });
		expect(written).toHaveLength(32);
		expect(channel.inFlight).toBe(0);
	});

	it('a deadline counts from its own call, however long the tick has lasted', async () => {
		const { call, clock } = makeChannel();
		const codes: string[] = [];
		const note = (what: string, settled: Promise<unknown>) =>
			settled.catch(({ code }) => codes.push(`${what} ${code}`));
		void note('first', call(1000));
		clock.work(198);
		void note('second', call(200));
		await clock.advance(199);
		expect(codes).toEqual([]);
		await clock.advance(10);
		expect(codes).toEqual(['second TIMEOUT']);
		await clock.advance(1000);
		expect(codes).toEqual(['second TIMEOUT', 'first TIMEOUT']);
	});

	it.each([1, 60, 0xffff_ffd0])(
		'lets its calls go in the order in which they were made, from id %d on',
		async (firstId) => {
			const { channel, call, idOf } = makeChannel({ inFlightMax: 128, firstId });
			for (let turn = 0; turn < 100; turn++) void call();
			// An early one is answered, and its slot is taken again.
			receive(channel, `{"id":${idOf(10)}}`);
			void call();
			channel.setWindow(1);
			void call();
			const orders = channel.takeAll().map(({ order }) => order);
			expect(orders).toHaveLength(101);
			expect(orders).toEqual([...orders].sort((left, right) => left - right));
		},
	);

	it('a sidecar may narrow the window, and widen it again up to the option', async () => {
		const { channel, call } = makeChannel();
		channel.narrow(1);
		void call();
		await expect(call()).rejects.toMatchObject({ code: 'OVERLOADED', details: { inFlightMax: 1 } });
		channel.narrow(100);
		for (let turn = 0; turn < 3; turn++) void call();
		await expect(call()).rejects.toMatchObject({ details: { inFlightMax: 4 } });
	});

	it('more unread output than the cap is OVERLOADED', async () => {
		const { call, buffer, written } = makeChannel();
		buffer(1001);
		await expect(call()).rejects.toMatchObject({ code: 'OVERLOADED', details: { pendingOutputBytesMax: 1000 } });
		expect(written).toEqual([]);
		buffer(1000);
		void call();
		expect(written).toHaveLength(1);
	});

	it('a frame longer than the sidecar accepts is refused here, and takes no slot', async () => {
		const { channel, call, written } = makeChannel();
		const frame = '{"id":1,"func":"ping"}';
		channel.frameBytesMax = frame.length - 1;
		await expect(call()).rejects.toMatchObject({
			code: 'FRAME_TOO_LARGE',
			message: expect.stringMatching(/^a frame of 22 bytes is over the limit of 21/),
			details: { frameBytes: frame.length, frameBytesMax: frame.length - 1 },
		});
		expect(channel.inFlight).toBe(0);
		channel.frameBytesMax = frame.length;
		void call();
		expect(written).toEqual(['{"id":2,"func":"ping"}\n']);
	});

	it('a trace is left out of a frame that would be too long with it, and of no other', () => {
		const { channel, send, written } = makeChannel();
		const members = encodeTrace({ traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: undefined });
		const tail = `${members},"func":"ping"}\n`;
		channel.frameBytesMax = `{"id":1${tail}`.length - 1;
		void send({ tail });
		channel.frameBytesMax--;
		void send({ tail });
		expect(written).toEqual([`{"id":1${tail}`, '{"id":2,"func":"ping"}\n']);
	});

	it.each([
		'null',
		'[]',
		'{"id":"length"}',
		'{"id":"__proto__","data":1}',
		'{"id":-1,"data":1}',
		'{"id":1.5,"data":1}',
		'{',
	])('%s is counted as a fault and settles nothing', async (frame) => {
		const { channel, call, faults } = makeChannel();
		const pending = call();
		receive(channel, frame);
		expect(faults).toEqual(['frame']);
		expect(channel.inFlight).toBe(1);
		receive(channel, '{"id":1,"data":true}');
		expect(await pending).toBe(true);
	});

	it("a failure rejects its call with the sidecar's code; one without an id is a fault", async () => {
		const { channel, call, faults, reasons } = makeChannel();
		const pending = call();
		receive(channel, '{"id":null,"error":{"code":"BAD_FRAME","message":"m"}}');
		receive(channel, '{"id":1,"error":{"code":"NOT_READY","message":"m","retryable":true,"details":{"a":1}}}');
		await expect(pending).rejects.toMatchObject({ code: 'NOT_READY', retryable: true, details: { a: 1 } });
		expect(faults).toEqual(['failure without a request']);
		expect(reasons).toEqual(['BAD_FRAME: m']);
	});

	it('a push goes to its owner, and settles nothing', () => {
		const { channel, call, faults } = makeChannel();
		void call();
		receive(channel, '{"event":"goaway","data":null}');
		expect(faults).toEqual(['push goaway']);
		expect(channel.inFlight).toBe(1);
	});

	it('an abort rejects with its cause, tells the sidecar, and leaves no listener', async () => {
		const { channel, call, written } = makeChannel();
		channel.sendsCancel = true;
		const stop = new AbortController();
		const reason = new Error('enough');
		const pending = call(100, stop.signal);
		stop.abort(reason);
		await expect(pending).rejects.toMatchObject({ code: 'ABORTED', cause: reason });
		expect(written.map((line) => readClientMessage(line.trim()).kind)).toEqual(['request', 'notice']);
		expect(channel.inFlight).toBe(0);
		const other = new AbortController();
		const answered = call(100, other.signal);
		receive(channel, '{"id":2,"data":1}');
		expect(await answered).toBe(1);
		other.abort();
		expect(written).toHaveLength(3);
	});

	it('a sidecar that does not understand it is not told to stop', async () => {
		const { call, clock, written } = makeChannel();
		const stop = new AbortController();
		const [aborted, late] = [call(100, stop.signal), call(100)];
		stop.abort();
		await clock.advance(100);
		await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' });
		await expect(late).rejects.toMatchObject({ code: 'TIMEOUT' });
		expect(written).toHaveLength(2);
	});

	it('a call that has ended listens to its signal no more', async () => {
		const { channel, clock, call } = makeChannel();
		const { signal } = new AbortController();
		const ends = [call(100, signal), call(100, signal), call(100, signal)];
		expect(getEventListeners(signal, 'abort')).toHaveLength(1);
		receive(channel, '{"id":1,"data":1}');
		receive(channel, '{"id":2,"error":{"code":"INTERNAL","message":"no","retryable":true}}');
		await clock.advance(200);
		await Promise.allSettled(ends);
		expect(getEventListeners(signal, 'abort')).toHaveLength(0);
	});

	it('one timer serves all deadlines, and none is left when the calls are gone', async () => {
		const { channel, clock, call } = makeChannel({ inFlightMax: 1024 });
		const calls = Array.from({ length: 500 }, (_, index) => call(1000 + index));
		expect(clock.pendingTimers).toBe(1);
		await clock.advance(1600);
		for (const result of await Promise.allSettled(calls)) expect(result.status).toBe('rejected');
		expect(clock.pendingTimers).toBe(0);
		void call(50);
		for (const left of channel.takeAll()) left.reject(new SpockError('CLOSED', ''));
		expect(clock.pendingTimers).toBe(0);
	});

	it('no call waits much past its deadline, whatever was asked before and after it', async () => {
		const { clock, call } = makeChannel({ inFlightMax: 64 });
		const ended: number[] = [];
		const startMs = clock.now();
		for (const timeoutMs of [500, 30, 31, 400, 32, 10])
			call(timeoutMs).catch(() => ended.push(clock.now() - startMs - timeoutMs));
		await clock.advance(1000);
		expect(ended).toHaveLength(6);
		for (const lateMs of ended) expect(lateMs).toBeLessThanOrEqual(5);
	});

	it.each([
		['a ping of the heartbeat, which counts them itself, reports no time-out', 'ping', BACKGROUND, 0],
		['another call of the client reports its time-out', 'watchService', BACKGROUND, 1],
		["a caller's ping reports its time-out", 'ping', PLAIN, 1],
	])('%s', async (_name, func, traits, count) => {
		const { call, clock, timeouts } = makeChannel();
		void call(50, undefined, traits, func);
		await clock.advance(60);
		expect(timeouts()).toBe(count);
	});

	it('equal addresses are one frozen value; a reply of the wrong shape is PROTOCOL', async () => {
		const { channel, call, faults, reasons } = makeChannel();
		const [first, second, third, fourth] = Array.from({ length: 4 }, () => call(100, undefined, ADDRESS));
		receive(channel, '{"id":1,"data":{"host":"h","port":1}}');
		receive(channel, '{"id":2,"data":{"host":"h","port":1}}');
		for (const id of [3, 4]) receive(channel, `{"id":${id},"data":{"host":5}}`);
		expect(await first).toEqual({ host: 'h', port: 1, instance: 'h:1' });
		expect(await second).toBe(await first);
		expect(Object.isFrozen(await first)).toBe(true);
		for (const wrong of [third, fourth]) {
			await expect(wrong).rejects.toMatchObject({ code: 'PROTOCOL', details: { path: 'host' } });
		}
		expect(faults).toEqual(['frame', 'frame']);
		expect(reasons).toEqual(['the reply to ping has the wrong shape', 'the reply to ping has the wrong shape']);
	});

	it('what a reader leaves out of a reply is a fault, and the call succeeds', async () => {
		const { channel, call, faults, reasons } = makeChannel();
		const read = (_data: unknown, leftOut: (why: string) => void): string => {
			leftOut('one instance without a port');
			return 'the rest';
		};
		const pending = call(100, undefined, makeTraits({ read }));
		receive(channel, '{"id":1,"data":[]}');
		expect(await pending).toBe('the rest');
		expect([faults, reasons]).toEqual([['frame'], ['one instance without a port']]);
	});

	it('equal replies to calls of `request` are a value for each, which its caller may change', async () => {
		const { channel, call } = makeChannel();
		const both = [call(), call()];
		for (const id of [1, 2]) receive(channel, `{"id":${id},"data":{"a":1}}`);
		const [first, second] = await Promise.all(both);
		expect(second).toEqual(first);
		expect(second).not.toBe(first);
	});

	it('long replies are not cached: each is a value of its own', async () => {
		const { channel, call } = makeChannel();
		const cached = makeTraits({ memoised: true, read: (data) => Object.freeze({ data }) });
		const answersOf = async (text: string): Promise<unknown[]> => {
			const calls = [call(100, undefined, cached), call(100, undefined, cached)];
			for (const left of [0, 1]) receive(channel, `{"id":${nextId + left},"data":"${text}"}`);
			nextId += 2;
			return Promise.all(calls);
		};
		let nextId = 1;
		const [short, sameShort] = await answersOf('x'.repeat(480));
		expect(sameShort).toBe(short);
		const [long, otherLong] = await answersOf('x'.repeat(520));
		expect(otherLong).toEqual(long);
		expect(otherLong).not.toBe(long);
	});

	it('equal replies to calls of other traits are read by their own', async () => {
		const { channel, call } = makeChannel();
		const other = makeTraits({ memoised: true, read: (data) => Object.freeze({ other: data }) });
		const calls = [call(100, undefined, ADDRESS), call(100, undefined, other), call(100, undefined, ADDRESS)];
		for (const id of [1, 2, 3]) receive(channel, `{"id":${id},"data":{"host":"h","port":1}}`);
		const address = { host: 'h', port: 1, instance: 'h:1' };
		expect(await Promise.all(calls)).toEqual([address, { other: { host: 'h', port: 1 } }, address]);
	});
});
