import { FakeClock, settle, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { run } from './running-sidecar.ts';

describe('clients that misbehave', () => {
	it('one that never reads its answers is not read any more, and closed as a slow consumer', async () => {
		const clock = new FakeClock();
		await using running = await run({ outputBytesMax: 65_536, slowConsumerMs: 5000 }, clock);
		await using client = await running.open();
		await using other = await running.open();
		client.socket.pause();
		const big = 'x'.repeat(100_000);
		for (let id = 1; id <= 50; id++) client.request(id, 'ping', big);
		await waitFor('the pause', () => running.limited.includes('outputBytesMax'));
		// Each of these takes a turn of the event loop, in which the sidecar could read on.
		for (let id = 1; id <= 50; id++) expect(await other.ask(id, 'ping', id)).toEqual({ id, data: id });
		// What it asked for after that is neither answered nor kept: it stays with the client.
		const { outputBytes, slowConsumers, bytesRead } = running.sidecar.gauges();
		expect(outputBytes).toBeLessThan(2 * 65_536 + 2 * big.length);
		expect([slowConsumers, bytesRead >= big.length]).toEqual([1, true]);
		await clock.advance(5000);
		await waitFor('the end', () => running.reasons.includes('slow-consumer'));
		expect(running.sidecar.gauges().slowConsumers).toBe(0);
		expect(await other.ask(51, 'ping', 51)).toEqual({ id: 51, data: 51 });
	});

	it('one that reads slowly in the end is read again, and loses nothing', async () => {
		await using running = await run({ outputBytesMax: 65_536 });
		await using client = await running.open();
		client.socket.pause();
		const big = 'x'.repeat(50_000);
		for (let id = 1; id <= 100; id++) client.request(id, 'ping', big);
		await waitFor('the pause', () => running.limited.includes('outputBytesMax'));
		// Its turn is over too: nothing but what the client reads lets the sidecar go on.
		await settle();
		client.socket.resume();
		for (let id = 1; id <= 100; id++) expect(await client.next()).toMatchObject({ id });
	});

	it('one that never finishes its frame is closed', async () => {
		const clock = new FakeClock();
		await using running = await run({ partialFrameMs: 10_000 }, clock);
		await using client = await running.open();
		await client.ask(1, 'ping');
		client.socket.write('{"id":2,');
		await settle();
		await waitFor('the bytes', () => running.sidecar.gauges().connections === 1);
		for (let turn = 0; turn < 6 && running.reasons.length === 0; turn++) await clock.advance(5000);
		await waitFor('the end', () => running.reasons.length === 1);
		expect(running.reasons).toEqual(['partial-frame']);
	});

	it('a frame that is too long is FRAME_TOO_LARGE, and not a silent end: what was asked before it is answered', async () => {
		await using running = await run({ frameBytesMax: 1024 });
		await using client = await running.open();
		client.request(1, 'ping', 'before');
		client.request(2, 'ping', 'x'.repeat(2000));
		client.request(3, 'ping', 'after');
		expect(await client.next()).toEqual({ id: 1, data: 'before' });
		expect(await client.next()).toMatchObject({
			id: null,
			error: { code: 'FRAME_TOO_LARGE', details: { frameBytesMax: 1024 } },
		});
		expect(await client.next()).toBeUndefined();
		await waitFor('the close', () => running.reasons.length === 1);
		expect(running.reasons).toEqual(['frame-too-large']);
	});

	it('connections past connectionsMax are closed at once, and there is room again when one leaves', async () => {
		await using running = await run({ connectionsMax: 1 });
		const first = await running.open();
		await first.ask(1, 'ping');
		await using second = await running.open();
		expect(await second.next()).toBeUndefined();
		expect(running.sidecar.status().counters).toMatchObject({ refused: 1, opened: 1 });
		first.socket.destroy();
		await waitFor('room', () => running.sidecar.gauges().connections === 0);
		await using third = await running.open();
		expect(await third.ask(1, 'ping', 3)).toEqual({ id: 1, data: 3 });
	});

	it('a flood of bad frames on one connection leaves the others alone', async () => {
		await using running = await run();
		await using bad = await running.open();
		await using good = await running.open();
		bad.socket.write('garbage\n'.repeat(100_000));
		expect(await bad.next()).toMatchObject({ id: null, error: { code: 'BAD_FRAME' } });
		expect(await good.ask(1, 'ping', 1)).toEqual({ id: 1, data: 1 });
		await waitFor('the end', () => running.reasons.includes('bad-frames'));
	});

	it('a client that is gone in the middle of everything is one closed connection', async () => {
		await using running = await run();
		const client = await running.open();
		client.request(1, 'getService', { service: 'slow' });
		await waitFor('the request', () => running.sidecar.gauges().inFlight === 1);
		client.socket.destroy();
		// A client may end its side and still read: only the answer finds out that nobody is there.
		running.source.publish('slow', ['5.6.7.8']);
		await waitFor('the end', () => running.reasons.length === 1);
		expect(running.sidecar.gauges()).toMatchObject({ connections: 0, subscriptions: 0, inFlight: 0 });
	});
});
