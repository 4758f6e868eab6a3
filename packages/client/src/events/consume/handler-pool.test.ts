import { describe, expect, it } from 'vitest';

import { delivered, fakeConsumers, refusal, tick } from '../../../test/events/fake-downlink.ts';
import type { HandleOptions } from './consume-options.ts';
import type { HandlerContext } from './handler-pool.ts';
import type { ReceivedEvent } from './received-event.ts';

/** A run of the handler, which ends when the test says so. */
interface Run {
	readonly event: ReceivedEvent;
	readonly context: HandlerContext;
	succeed(): void;
	fail(error: unknown): void;
}

/** A pool whose handlers end by hand, on an open connection. */
function pool(options: HandleOptions = {}) {
	const fake = fakeConsumers();
	const runs: Run[] = [];
	const done = fake.consumers.handle('orders', { group: 'billing', ...options }, (event, context) => {
		return new Promise<void>((resolve, reject) => {
			runs.push({ event, context, succeed: resolve, fail: reject });
		});
	});
	let hasSettled = false;
	void done
		.catch(() => undefined)
		.then(() => {
			hasSettled = true;
		});
	const line = fake.downlink.connect();
	const positions = (): number[] => runs.map(({ event }) => event.position);
	return { ...fake, runs, done, line, positions, hasSettled: () => hasSettled };
}

function first(runs: readonly Run[]): Run {
	const [run] = runs;
	if (run === undefined) throw new Error('no handler has begun');
	return run;
}

const keyed = (n: number, key: string) => delivered(n, { event: { key } });

describe('handling', () => {
	it('acks after the handler, of a tick in one notice', async () => {
		const { line, runs } = pool({ concurrency: 2 });
		line.deliver(delivered(1), delivered(2), delivered(3));
		expect(runs).toHaveLength(2);
		runs[1]?.succeed();
		runs[0]?.succeed();
		await tick();
		expect(line.notices).toEqual([{ func: 'ack', data: { consumer: 1, n: [2, 1] } }]);
		expect(runs).toHaveLength(3);
	});

	it('runs what is not async, and acks it', async () => {
		const { consumers, downlink } = fakeConsumers();
		void consumers.handle('orders', {}, () => undefined);
		const line = downlink.connect();
		line.deliver(delivered(1), delivered(2));
		await tick();
		expect(line.told('ack')).toEqual([1, 2]);
	});

	it('asks for as many events as keep its handlers busy', () => {
		expect(pool().line.calls[0]?.data).toMatchObject({ inFlightMax: 64 });
		expect(pool({ concurrency: 100 }).line.calls[0]?.data).toMatchObject({ inFlightMax: 200 });
		expect(pool({ concurrency: 4000 }).line.calls[0]?.data).toMatchObject({ inFlightMax: 4096 });
	});

	it('nacks what fails, with the back-off of the sidecar or the delay that was asked for', async () => {
		const first = pool();
		first.line.deliver(delivered(1));
		first.runs[0]?.fail(new Error('no such customer'));
		await tick();
		expect(first.line.notices).toEqual([{ func: 'nack', data: { consumer: 1, n: [1] } }]);
		const second = pool({ retryDelayMs: (delivery) => delivery * 100 });
		second.line.deliver(delivered(1, { delivery: 3 }));
		second.runs[0]?.fail('a string');
		await tick();
		expect(second.line.notices).toEqual([{ func: 'nack', data: { consumer: 1, n: [1], delayMs: 300 } }]);
	});

	it('also what throws at once', async () => {
		const { consumers, downlink } = fakeConsumers();
		void consumers.handle('orders', {}, () => {
			throw new Error('at once');
		});
		const line = downlink.connect();
		line.deliver(delivered(1));
		await tick();
		expect(line.told('nack')).toEqual([1]);
	});

	it('makes a dead letter of what fails for the last time, with the error as its reason', async () => {
		const { line, runs } = pool({ attempts: 2 });
		line.deliver(delivered(1, { delivery: 2 }));
		runs[0]?.fail(new Error(`no such customer ${'x'.repeat(600)}`));
		await tick();
		const [notice] = line.notices;
		expect(notice).toMatchObject({
			func: 'term',
			data: { n: [1], reason: expect.stringMatching(/^no such customer x{495}$/) },
		});
		const text = pool({ attempts: 1 });
		text.line.deliver(delivered(1));
		text.runs[0]?.fail('a text');
		await tick();
		expect(text.line.notices).toMatchObject([{ func: 'term', data: { reason: 'a text' } }]);
		const endless = pool({ attempts: 0 });
		endless.line.deliver(delivered(1, { delivery: 99 }));
		endless.runs[0]?.fail(new Error('again'));
		await tick();
		expect(endless.line.told('nack')).toEqual([1]);
	});

	it('leaves alone what the handler has decided by itself', async () => {
		const { line, runs } = pool({ concurrency: 2 });
		line.deliver(delivered(1), delivered(2));
		runs[0]?.event.term('of another tenant');
		runs[0]?.succeed();
		runs[1]?.event.ack();
		runs[1]?.fail(new Error('after the ack'));
		await tick();
		expect(line.notices.map(({ func }) => func)).toEqual(['ack', 'term']);
	});

	it('extends, at half of ackWaitMs, what runs and what waits for a handler', async () => {
		const { clock, line, runs } = pool({ ackWaitMs: 1000 });
		line.deliver(delivered(1), delivered(2));
		await clock.advance(499);
		expect(line.told('extend')).toEqual([]);
		await clock.advance(1);
		await tick();
		expect(line.told('extend')).toEqual([1, 2]);
		runs[0]?.succeed();
		await clock.advance(500);
		await tick();
		expect(line.told('extend')).toEqual([1, 2, 2]);
		runs[1]?.succeed();
		await clock.advance(500);
		expect(clock.pendingTimers).toBe(0);
	});

	it('gives up a handler that runs too long: its signal aborts, its event is nacked, and its place stays taken', async () => {
		const { clock, line, runs } = pool({ handlerTimeoutMs: 200, ackWaitMs: 100, order: 'key' });
		line.deliver(keyed(1, 'a'), keyed(2, 'b'));
		const { signal } = first(runs).context;
		await clock.advance(199);
		expect(signal.aborted).toBe(false);
		await clock.advance(10);
		expect(signal.reason).toMatchObject({ code: 'TIMEOUT', details: { handlerTimeoutMs: 200, position: 1 } });
		await tick();
		expect(line.told('nack')).toEqual([1]);
		line.deliver(delivered(3, { position: 1, delivery: 2, event: { key: 'a' } }));
		expect(runs).toHaveLength(1);
		runs[0]?.succeed();
		await tick();
		expect(line.told('ack')).toEqual([]);
		expect(runs).toHaveLength(2);
		// Asked for after the fact it says the same.
		await clock.advance(300);
		expect(runs[1]?.context.signal.aborted).toBe(true);
	});

	it('with order key runs no two of a key, and others meanwhile, each key in the order in which it came', async () => {
		const { line, positions, runs } = pool({ concurrency: 3, order: 'key' });
		line.deliver(keyed(1, 'a'), keyed(2, 'a'), keyed(3, 'b'), keyed(4, 'a'), delivered(5), delivered(6));
		expect(positions()).toEqual([1, 3, 5]);
		runs[1]?.succeed();
		await tick();
		expect(positions()).toEqual([1, 3, 5, 6]);
		runs[0]?.fail(new Error('later'));
		await tick();
		expect(positions()).toEqual([1, 3, 5, 6, 2]);
	});

	it('with order stream runs one at a time', async () => {
		const { line, positions, runs } = pool({ concurrency: 3, order: 'stream' });
		line.deliver(keyed(1, 'a'), keyed(2, 'b'));
		expect(positions()).toEqual([1]);
		runs[0]?.succeed();
		await tick();
		expect(positions()).toEqual([1, 2]);
	});

	it('lets one run do for an event that comes again while it is handled, after a loss', async () => {
		const { downlink, line, runs } = pool({ concurrency: 2 });
		line.deliver(delivered(1), delivered(2));
		downlink.lose();
		const again = downlink.connect();
		again.deliver(delivered(8, { position: 1, time: 1001, delivery: 2 }));
		expect(runs).toHaveLength(2);
		expect(runs[0]?.event.isOut).toBe(true);
		runs[0]?.succeed();
		// Its handler ends before it comes again: it was done all the same.
		runs[1]?.succeed();
		await tick();
		expect(again.told('ack')).toEqual([8]);
		again.deliver(delivered(9, { position: 2, time: 1002, delivery: 2 }));
		await tick();
		expect(again.told('ack')).toEqual([8, 9]);
		expect(runs).toHaveLength(2);
	});

	it.each([
		['another log has at its position', { time: 7777 }, 0],
		['its group is to do again', {}, 1],
	])('runs anew what %s, after the one that it has', async (_, members, rewinds) => {
		const { downlink, line, runs } = pool();
		line.deliver(delivered(1));
		downlink.lose();
		const next = downlink.connect();
		next.deliverAfter(rewinds, delivered(1, members));
		expect(runs).toHaveLength(1);
		runs[0]?.succeed();
		await tick();
		expect(next.told('ack')).toEqual([]);
		expect(runs).toHaveLength(2);
		runs[1]?.succeed();
		await tick();
		expect(next.told('ack')).toEqual([1]);
	});

	it('gives one that failed meanwhile back on the new connection, by the number of its newest delivery', async () => {
		const { downlink, line, runs } = pool({ attempts: 2 });
		line.deliver(delivered(1));
		downlink.lose();
		const again = downlink.connect();
		again.deliver(delivered(8, { position: 1, time: 1001, delivery: 2 }));
		runs[0]?.fail(new Error('for the last time'));
		await tick();
		expect(again.notices).toMatchObject([{ func: 'term', data: { n: [8], reason: 'for the last time' } }]);
	});

	it('runs anew what the handler had decided on the lost connection', async () => {
		const { downlink, line, runs } = pool({ concurrency: 2 });
		line.deliver(delivered(1));
		downlink.lose();
		expect(runs[0]?.event.nack()).toBe(false);
		downlink.connect().deliver(delivered(8, { position: 1, time: 1001, delivery: 2 }));
		expect(runs).toHaveLength(1);
		runs[0]?.succeed();
		await tick();
		expect(runs).toHaveLength(2);
	});
});

describe('the end of a pool', () => {
	it('by its signal: begins no more, lets the handlers finish, acks, and resolves', async () => {
		const abort = new AbortController();
		const { clock, done, downlink, hasSettled, line, runs } = pool({ signal: abort.signal });
		line.deliver(delivered(1), delivered(2));
		abort.abort();
		expect(runs[0]?.context.signal.aborted).toBe(false);
		await tick();
		expect(hasSettled()).toBe(false);
		runs[0]?.succeed();
		await done;
		expect(line.log).toEqual(['openConsumer', 'ack', 'closeConsumer']);
		expect(runs).toHaveLength(1);
		expect(downlink.ends).toEqual(['drain']);
		expect(clock.pendingTimers).toBe(0);
		await fakeConsumers().consumers.handle('orders', { signal: AbortSignal.abort() }, () => undefined);
	});

	it('by a drain: the same, also when the connection is lost meanwhile', async () => {
		const { consumers, done, downlink, hasSettled, line, runs } = pool();
		line.deliver(delivered(1));
		const drained = consumers.drain();
		downlink.lose();
		await tick();
		expect(hasSettled()).toBe(false);
		runs[0]?.succeed();
		await Promise.all([done, drained]);
		expect(downlink.ends).toEqual(['drain']);
	});

	it('by a close: at once, and the signals of its handlers abort', async () => {
		const { clock, consumers, done, line, runs } = pool({ handlerTimeoutMs: 1000 });
		line.deliver(delivered(1));
		const { signal } = first(runs).context;
		await consumers.close();
		await done;
		expect(signal.reason).toMatchObject({ code: 'CLOSED' });
		runs[0]?.succeed();
		await tick();
		expect(line.told('ack')).toEqual([]);
		expect(clock.pendingTimers).toBe(0);
	});

	it('rejects with what waiting cannot mend', async () => {
		const { done, line } = pool();
		line.push('consumerClosed', { consumer: 1, error: refusal('ACL_DENIED').toWire() });
		await expect(done).rejects.toMatchObject({ code: 'ACL_DENIED' });
	});

	it('rejects with a fault of its own functions, and gives back what is out', async () => {
		const { done, line, runs } = pool({ retryDelayMs: () => Number.NaN });
		line.deliver(delivered(1));
		runs[0]?.fail(new Error('no'));
		await expect(done).rejects.toThrow('the result of retryDelayMs must be an integer');
		expect(line.log).toEqual(['openConsumer', 'nack', 'closeConsumer']);
	});

	it('throws for wrong options at the call', () => {
		const { consumers } = fakeConsumers();
		const handle =
			(options: object, handler: unknown = () => undefined) =>
			() =>
				consumers.handle('orders', options, handler as () => void);
		expect(handle({ concurrency: 0 })).toThrow('concurrency must be an integer from 1 to 4096');
		expect(handle({ handlerTimeoutMs: 0 })).toThrow('handlerTimeoutMs must be an integer from 1');
		expect(handle({ retryDelayMs: 5 })).toThrow('retryDelayMs must be a function');
		expect(handle({}, 'bill')).toThrow('handler must be a function');
		expect(handle({ retries: 5 })).toThrow('unknown option "retries"');
	});
});
