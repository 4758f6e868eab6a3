import { Duplex } from 'node:stream';

import { FakeClock, FakeSidecar, HOLD_PING, memoryPair, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';
import type { Transport } from '../foundation/transport.ts';

/** Both ends of each connection of a client to a sidecar, for a test to change before it is used. */
function between(sidecar: FakeSidecar, change: (pair: { near: Duplex; far: Duplex }) => void): Transport {
	return () => {
		const pair = memoryPair();
		change(pair);
		sidecar.accept(pair.far);
		return pair.near;
	};
}

describe('a transport', () => {
	it('may give bytes to `receive`, and not as `data`', async () => {
		const sidecar = new FakeSidecar();
		const transport: Transport = (_address, receive) => {
			const { near, far } = memoryPair();
			sidecar.accept(far);
			near.on('data', receive);
			return new Duplex({
				read: () => undefined,
				write: (chunk, _encoding, done) => void near.write(chunk, done),
				final: (done) => void near.end(done),
				destroy: (error, done) => {
					near.destroy();
					done(error);
				},
			});
		};
		const { diplomat } = await simulate({ transport });
		expect(await diplomat.request('ping', 'over it')).toBe('over it');
		await diplomat.drain();
	});

	it('may return a stream, as a clock may a timer, that cannot be told not to hold the process', async () => {
		const { diplomat } = await simulate({ unref: true, token: () => 'secret' });
		expect(await diplomat.request('ping', 1)).toBe(1);
		await diplomat.close();
	});

	it('may return a stream that stays open when the sidecar has ended its side: it is dropped', async () => {
		const sidecar = new FakeSidecar();
		const transport = between(sidecar, ({ near }) => {
			near.allowHalfOpen = true;
		});
		const { diplomat, clock } = await simulate({ transport });
		sidecar.connection.stream.end();
		await settle();
		expect(diplomat.status().lastError).toContain('the sidecar ended the connection');
		await clock.advance(1000);
		expect(sidecar.connections).toHaveLength(2);
		await diplomat.close();
	});
});

describe('the end of a session', () => {
	it('sends first what was written, and does not wait for the other side to end', async () => {
		const sidecar = new FakeSidecar(HOLD_PING);
		const transport = between(sidecar, ({ far }) => {
			far.allowHalfOpen = true;
		});
		const { diplomat } = await simulate({ transport });
		const stop = new AbortController();
		const call = expect(diplomat.request('ping', 1, { signal: stop.signal })).rejects.toMatchObject({
			code: 'ABORTED',
		});
		await settle();
		const drained = diplomat.drain();
		stop.abort();
		await Promise.all([call, drained]);
		expect(sidecar.requestsOf('cancel')).toHaveLength(1);
	});

	it('by a heartbeat says for how long nothing was heard', async () => {
		const { diplomat, sidecar, clock } = await simulate({ heartbeatMs: 1000 });
		sidecar.options = { handle: () => 'hold' };
		const call = diplomat.request('ping', 1, { timeoutMs: 60_000 }).catch(({ cause }: Error) => cause);
		await clock.advance(3000);
		expect(await call).toMatchObject({
			code: 'DISCONNECTED',
			message: 'the sidecar has not sent a byte for 3000 ms, although it was pinged',
			details: { silentMs: 3000 },
		});
		await diplomat.close();
	});
});

describe('a session', () => {
	it('counts what the peer has not taken: more than the cap is OVERLOADED', async () => {
		const { diplomat } = await simulate({ pendingOutputBytesMax: 1024 });
		const first = diplomat.request('ping', 'x'.repeat(2000));
		await expect(diplomat.request('ping', 'y')).rejects.toMatchObject({
			code: 'OVERLOADED',
			details: { pendingOutputBytesMax: 1024 },
		});
		await first;
		expect(await diplomat.request('ping', 'z')).toBe('z');
		await diplomat.close();
	});
});

describe('the option token', () => {
	it('that fails is an attempt that failed, with its error as the cause', async () => {
		const failure = new Error('the vault is sealed');
		const { diplomat } = await simulate({ token: () => Promise.reject(failure), whileDisconnected: 'fail' });
		expect(diplomat.status().lastError).toContain('the option token failed');
		const cause = await diplomat.request('ping', 1).catch((error: Error) => error.cause);
		expect(cause).toMatchObject({ code: 'DISCONNECTED', cause: failure });
		await diplomat.close();
	});

	it.each<[string, string | (() => string)]>([
		['a string', 'secret\n'],
		['a function', () => 'secret\r\n'],
	])('of %s with the end of a line is sent without it', async (_what, token) => {
		const { diplomat, sidecar } = await simulate({ token });
		expect(sidecar.requestsOf('hello').map(({ data }) => data)).toMatchObject([{ token: 'secret' }]);
		await diplomat.close();
	});

	it('that returns nothing in time is an attempt that failed', async () => {
		const { diplomat, clock } = await simulate({ token: () => new Promise(() => undefined), dialTimeoutMs: 500 });
		await clock.advance(499);
		expect(diplomat.status().lastError).toBeNull();
		await clock.advance(1);
		expect(diplomat.status().lastError).toContain('the option token returned no token within 500 ms');
		await diplomat.close();
	});

	it('that returns after the end says no hello, and leaves nothing behind', async () => {
		let give: (token: string) => void = () => undefined;
		const { diplomat, sidecar, clock } = await simulate({ token: () => new Promise((resolve) => (give = resolve)) });
		await diplomat.close();
		give('secret');
		await settle();
		expect(sidecar.requests).toEqual([]);
		expect(clock.pendingTimers).toBe(0);
	});
});

describe('timers', () => {
	/** Counts the timers that hold the process. */
	class HoldingClock extends FakeClock {
		readonly holding = new Set<object>();

		override setTimeout(callback: () => void, delayMs: number): object {
			const timer: object = super.setTimeout(() => {
				this.holding.delete(timer);
				callback();
			}, delayMs);
			this.holding.add(timer);
			return Object.assign(timer, { unref: () => this.holding.delete(timer) });
		}

		override clearTimeout(timer: object | undefined): void {
			super.clearTimeout(timer);
			if (timer !== undefined) this.holding.delete(timer);
		}
	}

	it.each([
		[true, 0],
		[false, 1],
	])('with unref %s hold the process by %d, also while it waits for a token', async (unref, count) => {
		const clock = new HoldingClock();
		const { diplomat } = await simulate({ clock, unref, token: () => new Promise(() => undefined) });
		expect(clock.pendingTimers).toBe(1);
		expect(clock.holding.size).toBe(count);
		await diplomat.close();
		expect(clock.holding.size).toBe(0);
	});

	it.each([
		[true, 0],
		[false, 1],
	])('with unref %s hold the process by %d while it waits to connect again', async (unref, count) => {
		const clock = new HoldingClock();
		const { diplomat } = await simulate({ clock, unref }, {}, 'ENOENT');
		expect([clock.pendingTimers, clock.holding.size]).toEqual([1, count]);
		await diplomat.close();
	});

	it('of heartbeats and deadlines never hold the process: the socket does', async () => {
		const clock = new HoldingClock();
		const { diplomat } = await simulate({ clock, unref: false }, HOLD_PING);
		const call = diplomat.request('ping', 1).catch(() => undefined);
		expect([clock.pendingTimers, clock.holding.size]).toEqual([2, 0]);
		await Promise.all([call, diplomat.close()]);
	});
});
