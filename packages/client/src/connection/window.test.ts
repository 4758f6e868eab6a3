import { type FakeSidecar, HOLD_PING, settle, wireError } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';

describe('window', () => {
	/** Answers the oldest ping that is held. */
	const answerNext = (sidecar: FakeSidecar, turn: number): void => {
		const { id = -1, data } = sidecar.requestsOf('ping')[turn] ?? {};
		sidecar.connection.reply(id, data);
	};

	it('calls above it wait in their order, and go out as others are settled; the status shows it', async () => {
		const { diplomat, sidecar } = await simulate({}, HOLD_PING);
		const before = diplomat.request('ping', 0);
		expect(diplomat.status().window).toBe(null);
		sidecar.connection.push('window', { inFlightMax: 2 });
		await settle();
		const later = [1, 2, 3].map((value) => diplomat.request('ping', value));
		await settle();
		expect(diplomat.status()).toMatchObject({ window: 2, inFlight: 2, waiting: 2 });
		expect(sidecar.requestsOf('ping')).toHaveLength(2);
		for (let turn = 0; turn < 4; turn++) {
			answerNext(sidecar, turn);
			await settle();
		}
		expect(await Promise.all([before, ...later])).toEqual([0, 1, 2, 3]);
		await diplomat.close();
	});

	it('a call that was on its way when it was narrowed waits for room, and is not OVERLOADED', async () => {
		const { diplomat, sidecar } = await simulate({}, HOLD_PING);
		const calls = [0, 1, 2].map((value) => diplomat.request('ping', value));
		await settle();
		sidecar.connection.push('window', { inFlightMax: 2 });
		const { id = -1 } = sidecar.requestsOf('ping')[2] ?? {};
		sidecar.connection.fail(id, { ...wireError('OVERLOADED', true), details: { inFlightMax: 2 } });
		await settle();
		expect(diplomat.status()).toMatchObject({ inFlight: 2, waiting: 1 });
		answerNext(sidecar, 0);
		await settle();
		answerNext(sidecar, 1);
		answerNext(sidecar, 3);
		expect(await Promise.all(calls)).toEqual([0, 1, 2]);
		await diplomat.close();
	});

	it('is never below what is in flight already, and wider again sends what waits', async () => {
		const { diplomat, sidecar } = await simulate({}, HOLD_PING);
		const calls = [0, 1, 2].map((value) => diplomat.request('ping', value));
		await settle();
		sidecar.connection.push('window', { inFlightMax: 1 });
		await settle();
		calls.push(diplomat.request('ping', 3));
		answerNext(sidecar, 0);
		await settle();
		expect(diplomat.status()).toMatchObject({ inFlight: 2, waiting: 1 });
		sidecar.connection.push('window', { inFlightMax: 65_536 });
		await settle();
		expect(diplomat.status()).toMatchObject({ window: null, inFlight: 3, waiting: 0 });
		for (let turn = 1; turn < 4; turn++) answerNext(sidecar, turn);
		expect(await Promise.all(calls)).toEqual([0, 1, 2, 3]);
		await diplomat.close();
	});

	it('who waits keeps its deadline and its signal, and waitingMax bounds them', async () => {
		const { diplomat, sidecar, clock } = await simulate({ waitingMax: 2 }, HOLD_PING);
		sidecar.connection.push('window', { inFlightMax: 1 });
		await settle();
		const first = diplomat.request('ping', 0);
		const late = expect(diplomat.request('ping', 1, { timeoutMs: 100 })).rejects.toMatchObject({
			code: 'TIMEOUT',
			message: expect.stringContaining('narrowed the window to 1'),
			details: { sent: false },
		});
		const abort = new AbortController();
		const aborted = expect(diplomat.request('ping', 2, { signal: abort.signal })).rejects.toMatchObject({
			code: 'ABORTED',
		});
		await expect(diplomat.request('ping', 3)).rejects.toMatchObject({ code: 'OVERLOADED', details: { waitingMax: 2 } });
		abort.abort();
		await clock.advance(200);
		await Promise.all([late, aborted]);
		expect(sidecar.requestsOf('ping')).toHaveLength(1);
		answerNext(sidecar, 0);
		expect(await first).toBe(0);
		await diplomat.close();
		expect(clock.pendingTimers).toBe(0);
	});

	it('with whileNarrowed fail, calls above it are OVERLOADED at once', async () => {
		const { diplomat, sidecar } = await simulate({ whileNarrowed: 'fail' }, HOLD_PING);
		sidecar.connection.push('window', { inFlightMax: 1 });
		await settle();
		const first = diplomat.request('ping', 1);
		await expect(diplomat.request('ping', 2)).rejects.toMatchObject({ code: 'OVERLOADED' });
		sidecar.connection.push('window', { inFlightMax: 'many' });
		await settle();
		expect(diplomat.status().protocolFaults).toBe(1);
		await Promise.all([expect(first).rejects.toMatchObject({ code: 'CLOSED' }), diplomat.close()]);
	});

	it('a drain waits for those who wait for it too', async () => {
		const { diplomat, sidecar } = await simulate({}, HOLD_PING);
		sidecar.connection.push('window', { inFlightMax: 1 });
		await settle();
		const calls = [0, 1].map((value) => diplomat.request('ping', value));
		const drained = diplomat.drain();
		await settle();
		answerNext(sidecar, 0);
		await settle();
		expect(diplomat.status().state).toBe('draining');
		answerNext(sidecar, 1);
		expect(await Promise.all(calls)).toEqual([0, 1]);
		await drained;
	});

	it('a goaway takes those who wait to the successor: they were never sent', async () => {
		const { diplomat, sidecar, clock } = await simulate({}, HOLD_PING);
		sidecar.connection.push('window', { inFlightMax: 1 });
		await settle();
		const calls = [0, 1, 2].map((value) => diplomat.request('ping', value));
		await settle();
		sidecar.connection.push('goaway', { reason: 'upgrade', graceMs: 1000 });
		await clock.advance(1000);
		await settle();
		expect(sidecar.requestsOf('ping').map(({ connection, data }) => [connection, data])).toEqual([
			[0, 0],
			[1, 1],
			[1, 2],
		]);
		const [first] = sidecar.requestsOf('ping');
		sidecar.connections[0]?.reply(first?.id ?? -1, 0);
		for (const turn of [1, 2]) answerNext(sidecar, turn);
		expect(await Promise.all(calls)).toEqual([0, 1, 2]);
		await diplomat.close();
	});

	it('a lost connection ends what was sent; those who wait go to the next one', async () => {
		const { diplomat, sidecar, clock } = await simulate({}, HOLD_PING);
		sidecar.connection.push('window', { inFlightMax: 1 });
		await settle();
		const [sent, waiting] = [diplomat.request('ping', 0), diplomat.request('ping', 1)];
		await settle();
		sidecar.connection.drop();
		await expect(sent).rejects.toMatchObject({ code: 'DISCONNECTED', details: { sent: true } });
		await clock.advance(1000);
		expect(sidecar.requestsOf('ping').map(({ connection, data }) => [connection, data])).toEqual([
			[0, 0],
			[1, 1],
		]);
		answerNext(sidecar, 1);
		expect(await waiting).toBe(1);
		await diplomat.close();
	});

	it('a heartbeat passes it: a full window is no dead sidecar', async () => {
		const { diplomat, sidecar, clock } = await simulate(
			{ heartbeatMs: 1000 },
			{ handle: ({ func }) => (func === 'getInstances' ? 'hold' : undefined) },
		);
		sidecar.connection.push('window', { inFlightMax: 1 });
		await settle();
		const held = diplomat.request('getInstances', { service: 'slow' }, { timeoutMs: 60_000 });
		held.catch(() => undefined);
		await clock.advance(20_000);
		expect(sidecar.connections).toHaveLength(1);
		await diplomat.close();
	});
});
