import { createSidecar, type LimitName, type SidecarLimits } from '@spock/sidecar';
import { FakeClock, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { FakeSource } from './fake-source.ts';
import { RawClient } from './raw-client.ts';

/** A sidecar whose turns a test gives: a turn ends, and the next begins when the test says so. */
async function run(limits: SidecarLimits = {}, clock?: FakeClock) {
	const place = await tempSocket();
	const source = new FakeSource();
	source.publish('barista', ['1.2.3.4']);
	const deferred: (() => void)[] = [];
	const limited: LimitName[] = [];
	const answered: string[] = [];
	const sidecar = createSidecar({
		source,
		listen: [{ address: { path: place.path } }],
		limits: { graceMs: 0, ...limits },
		...(clock && { clock }),
		defer: (callback) => void deferred.push(callback),
		observer: {
			limited: (limit) => limited.push(limit),
			answered: (func, _code, _ms, count) => answered.push(...Array<string>(count).fill(func)),
		},
	});
	await sidecar.start();
	return {
		place,
		sidecar,
		limited,
		answered,
		deferred,
		/** One turn of the event loop. */
		turn: () => {
			for (const callback of deferred.splice(0)) callback();
		},
		[Symbol.asyncDispose]: async () => {
			sidecar.terminate();
			sidecar.terminate();
			await sidecar.ended;
			await place[Symbol.asyncDispose]();
		},
	};
}

const flood = (count: number, func = 'getService'): string =>
	Array.from({ length: count }, (_, id) => `{"id":${id},"func":"${func}","data":{"service":"barista"}}\n`).join('');

describe('a flooding connection', () => {
	it('is answered a turn at a time, and a polite one between two of its turns', async () => {
		await using running = await run({ framesPerTurnMax: 10 });
		await using flooding = await RawClient.open(running.place.path);
		await using polite = await RawClient.open(running.place.path);
		await polite.ask(0, 'ping');
		flooding.socket.write(flood(500));
		await waitFor('the end of its turn', () => running.deferred.length === 1);
		const before = running.answered.length;
		expect(before).toBeLessThanOrEqual(1 + 10);
		for (let id = 1; id <= 20; id++) {
			// In the test's own time, in which the flood gets no turn: the polite one waits for nobody.
			expect(await polite.ask(id, 'ping', id)).toEqual({ id, data: id });
			running.turn();
		}
		const flooded = running.answered.filter((func) => func === 'getService').length;
		expect(flooded).toBeGreaterThan(20 * 9);
		expect(flooded).toBeLessThanOrEqual(21 * 10);
		expect(running.limited).toContain('framesPerTurnMax');
		while (running.deferred.length > 0) running.turn();
		await waitFor('all answers', () => flooding.unread === 500);
		for (let id = 0; id < 500; id++) expect(await flooding.next()).toMatchObject({ id });
	});

	it('turns grow while nobody else has anything to say', async () => {
		await using running = await run({ framesPerTurnMax: 10 });
		await using flooding = await RawClient.open(running.place.path);
		flooding.socket.write(flood(400));
		await waitFor('the end of its turn', () => running.deferred.length === 1);
		let turns = 1;
		for (; running.deferred.length > 0; turns++) running.turn();
		// Sixteen of 10, then 20, 40, 80, 160; without growing it were 40. The chunk may come in two.
		expect(turns).toBeGreaterThan(16);
		expect(turns).toBeLessThan(28);
		await waitFor('all answers', () => flooding.unread === 400);
	});

	it('questions that were never seen before count for more', async () => {
		await using running = await run({ framesPerTurnMax: 16 });
		await using flooding = await RawClient.open(running.place.path);
		flooding.socket.write(flood(100, 'brew'));
		await waitFor('the end of its turn', () => running.deferred.length === 1);
		expect(running.answered).toHaveLength(2);
	});

	it('of many, each has its turn, and a polite one waits for one of them and not for all', async () => {
		// No time passes between two turns: an iteration that has much else to do gives more of them.
		await using running = await run({ framesPerTurnMax: 10 }, new FakeClock());
		await using polite = await RawClient.open(running.place.path);
		await polite.ask(0, 'ping');
		const clients = await Promise.all(Array.from({ length: 5 }, () => RawClient.open(running.place.path)));
		for (const client of clients) client.socket.write(flood(100));
		await waitFor('five turns', () => running.limited.length === 5);
		// All five wait, for one callback.
		expect(running.deferred).toHaveLength(1);
		for (let turn = 0; turn < 15; turn++) {
			const before = running.answered.length;
			running.turn();
			expect(running.answered.length - before).toBeLessThanOrEqual(40);
			expect(await polite.ask(turn, 'ping')).toMatchObject({ id: turn });
		}
		await waitFor('answers for all', () => clients.every(({ unread }) => unread >= 20));
		for (const client of clients) client.socket.destroy();
	});

	it('one that ends its side while it waits for its turn still gets every answer', async () => {
		await using running = await run({ framesPerTurnMax: 10 });
		await using flooding = await RawClient.open(running.place.path);
		flooding.socket.end(flood(200));
		await waitFor('the end of its turn', () => running.deferred.length === 1);
		while (running.deferred.length > 0) running.turn();
		for (let id = 0; id < 200; id++) expect(await flooding.next()).toMatchObject({ id });
		expect(await flooding.next()).toBeUndefined();
	});

	it('one that goes away while it waits leaves nothing behind', async () => {
		await using running = await run({ framesPerTurnMax: 10 });
		const flooding = await RawClient.open(running.place.path);
		flooding.socket.write(flood(5000));
		await waitFor('the end of its turn', () => running.deferred.length === 1);
		flooding.socket.destroy();
		await waitFor('the end', () => {
			running.turn();
			return running.sidecar.gauges().connections === 0;
		});
		running.turn();
		expect(running.deferred).toHaveLength(0);
	});

	it('a shutdown answers what was read and not yet handled', async () => {
		await using running = await run({ framesPerTurnMax: 10, drainTimeoutMs: 1 });
		await using flooding = await RawClient.open(running.place.path);
		flooding.socket.write(flood(200));
		await waitFor('the end of its turn', () => running.deferred.length === 1);
		running.sidecar.terminate();
		await waitFor('the close', () => running.sidecar.status().phase === 'stopping');
		while (running.deferred.length > 0) running.turn();
		for (let id = 0; id < 200; id++) expect(await flooding.next()).toMatchObject({ id });
	});
});

describe('answers that nobody reads', () => {
	it('stop the requests behind them at once, and not at the end of the chunk', async () => {
		await using running = await run({ outputBytesMax: 65_536 });
		await using greedy = await RawClient.open(running.place.path);
		greedy.socket.pause();
		const data = 'x'.repeat(1000);
		greedy.socket.write(
			Array.from({ length: 2000 }, (_, id) => `{"id":${id},"func":"ping","data":"${data}"}\n`).join(''),
		);
		await waitFor('the pause', () => {
			running.turn();
			return running.limited.includes('outputBytesMax');
		});
		expect(running.sidecar.gauges().outputBytes).toBeLessThan(3 * 65_536);
		greedy.socket.resume();
		for (let id = 0; id < 2000; id++) {
			const turning = setInterval(running.turn, 1);
			expect(await greedy.next()).toMatchObject({ id });
			clearInterval(turning);
		}
	});
});

describe('a connection that says nothing', () => {
	it('is closed when its handshake takes too long; one that has spoken may be silent for ever', async () => {
		const { FakeClock } = await import('@spock/testkit');
		const clock = new FakeClock();
		await using place = await tempSocket();
		const reasons: string[] = [];
		const sidecar = createSidecar({
			source: new FakeSource(),
			listen: [{ address: { path: place.path } }],
			limits: { graceMs: 0, handshakeMs: 10_000 },
			clock,
			observer: { connectionClosed: (_id, reason) => void reasons.push(reason) },
		});
		await sidecar.start();
		await using silent = await RawClient.open(place.path);
		await using spoken = await RawClient.open(place.path);
		expect(await spoken.ask(1, 'ping', 1)).toEqual({ id: 1, data: 1 });
		await waitFor('both', () => sidecar.gauges().connections === 2);
		for (let turn = 0; turn < 4; turn++) await clock.advance(5000);
		await waitFor('the end', () => reasons.length === 1);
		expect(reasons).toEqual(['handshake']);
		expect(await silent.next()).toBeUndefined();
		expect(await spoken.ask(2, 'ping', 2)).toEqual({ id: 2, data: 2 });
		sidecar.terminate();
		sidecar.terminate();
		await clock.advance(60_000);
		await sidecar.ended;
	});
});
