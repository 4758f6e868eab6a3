import type { TracedRequest } from '@spock/sidecar';
import { FakeClock, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { RawClient } from './raw-client.ts';
import { type Running, run } from './running-sidecar.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
/** The trace of the span with this number. */
const trace = (span: number): { traceparent: string } => ({
	traceparent: `00-${traceId}-${String(span).padStart(16, '0')}-01`,
});
const told = ({ traced }: Running): [span: number, func: string, code: string][] =>
	traced.map(({ traceparent, func, code }) => [Number(traceparent.slice(36, 52)), func, code]);

describe('a request that carries a trace', () => {
	it('is told with it, however it ends', async () => {
		await using running = await run();
		await using client = await running.open();
		client.send({ id: 1, ...trace(1), tracestate: 'a=1', func: 'ping' });
		client.send({ id: 2, ...trace(2), func: 'nothing' });
		client.send({ id: 3, ...trace(3), func: 'getService', data: {} });
		for (let frames = 0; frames < 3; frames++) await client.next();
		expect(told(running)).toEqual([
			[1, 'ping', 'ok'],
			[2, 'other', 'UNKNOWN_FUNC'],
			[3, 'getService', 'BAD_REQUEST'],
		]);
		const members = { traceId, tracestate: 'a=1', connection: expect.any(Number), durationMs: expect.any(Number) };
		expect(running.traced[0]).toMatchObject(members);
	});

	it('is told when its answer comes, fails, or is given up: never twice, and with its own trace', async () => {
		const clock = new FakeClock();
		await using running = await run({}, clock);
		await using client = await running.open();
		for (const [id, service] of ['late', 'given-up', 'later'].entries()) {
			client.send({ id, ...trace(id + 1), func: 'getInstances', data: { service } });
		}
		// The id is in flight: refused, and no business of the one that has it.
		client.send({ id: 0, ...trace(9), func: 'ping' });
		expect(await client.next()).toMatchObject({ error: { code: 'BAD_REQUEST' } });
		client.send({ func: 'cancel', data: { id: 1 } });
		await waitFor('the cancel', () => running.source.aborts === 1);
		await clock.advance(700);
		running.source.publish('late', ['1.2.3.4']);
		expect(await client.next()).toMatchObject({ id: 0 });
		// Asked twice, it waits for nobody.
		running.sidecar.terminate();
		running.sidecar.terminate();
		await running.sidecar.ended;
		expect(told(running)).toEqual([
			[2, 'getInstances', 'cancelled'],
			[1, 'getInstances', 'ok'],
			[3, 'getInstances', 'cancelled'],
		]);
		expect(running.traced[1]?.durationMs).toBe(700);
	});

	it('that is refused is told', async () => {
		await using running = await run({ inFlightMax: 1 });
		await using client = await running.open();
		client.request(1, 'getInstances', { service: 'late' });
		client.send({ id: 2, ...trace(2), func: 'ping' });
		expect(await client.next()).toMatchObject({ error: { code: 'OVERLOADED' } });
		expect(told(running)).toEqual([[2, 'ping', 'OVERLOADED']]);
	});

	it('of a frame that was seen before is the new one and not that one', async () => {
		await using running = await run();
		await using client = await running.open();
		const data = { service: 'barista' };
		client.request(1, 'getService', data);
		const answer = await client.next();
		for (const span of [2, 3, 4]) {
			client.send({ id: span, ...trace(span), ...(span === 3 && { tracestate: 'a=1' }), func: 'getService', data });
			expect(await client.next()).toEqual({ ...answer, id: span });
		}
		client.request(5, 'getService', data);
		expect(await client.next()).toEqual({ ...answer, id: 5 });
		expect(told(running)).toEqual([2, 3, 4].map((span) => [span, 'getService', 'ok']));
		expect(running.traced.map(({ tracestate }) => tracestate)).toEqual([undefined, 'a=1', undefined]);
	});

	it('that is bad is answered as one without', async () => {
		await using running = await run();
		await using client = await running.open();
		client.send({ id: 1, traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01`, func: 'ping', data: 7 });
		expect(await client.next()).toEqual({ id: 1, data: 7 });
		client.send({ id: 2, traceparent: { length: 55 }, tracestate: [], func: 'ping', data: 8 });
		expect(await client.next()).toEqual({ id: 2, data: 8 });
		expect(running.traced).toEqual<TracedRequest[]>([]);
	});
});

it('the log of a sidecar has the trace of a request that failed, and of no other', async () => {
	await using place = await tempSocket();
	await using sidecar = await startSidecar(place.path, ['--backend', 'local', '--log-format', 'json']);
	await using client = await RawClient.open(place.path);
	client.send({ id: 1, ...trace(1), func: 'ping' });
	client.send({ id: 2, ...trace(2), func: 'getService', data: { service: 'nobody' } });
	client.request(3, 'getService', { service: 'nobody' });
	for (let frames = 0; frames < 3; frames++) await client.next();
	await waitFor('the line', () => sidecar.stdout().includes(traceId));
	const lines = sidecar
		.stdout()
		.split('\n')
		.filter((line) => line.includes('"msg":"request'));
	expect(lines).toHaveLength(1);
	expect(JSON.parse(lines[0] as string)).toMatchObject({
		level: 'warn',
		func: 'getService',
		code: 'NO_SUCH_SERVICE',
		traceId,
		...trace(2),
		msg: 'request failed',
	});
});
