import { once } from 'node:events';

import { SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';
import { type CloseReason, createSidecar, type Sidecar, type SidecarLimits } from '@spock/sidecar';
import { FakeClock, settle, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { FakeSource } from './fake-source.ts';
import { type Frame, RawClient } from './raw-client.ts';

interface Running extends AsyncDisposable {
	readonly place: TempSocket;
	readonly source: FakeSource;
	readonly sidecar: Sidecar;
	readonly reasons: CloseReason[];
	readonly faults: unknown[];
	readonly superseded: number[];
	open(): Promise<RawClient>;
}

async function run(limits: SidecarLimits = {}, clock?: Clock): Promise<Running> {
	const place = await tempSocket();
	const source = new FakeSource();
	source.publish('barista', ['1.2.3.4']);
	const reasons: CloseReason[] = [];
	const faults: unknown[] = [];
	const superseded: number[] = [];
	const sidecar = createSidecar({
		source,
		listen: [{ address: { path: place.path } }],
		limits: { graceMs: 0, ...limits },
		observer: {
			connectionClosed: (_id, reason) => reasons.push(reason),
			fault: (_func, cause) => faults.push(cause),
			pushed: (kind) => {
				if (kind === 'superseded') superseded.push(1);
			},
		},
		...(clock && { clock }),
	});
	await sidecar.start();
	return {
		place,
		source,
		sidecar,
		reasons,
		faults,
		superseded,
		open: () => RawClient.open(place.path),
		[Symbol.asyncDispose]: async () => {
			sidecar.terminate();
			sidecar.terminate();
			if (clock instanceof FakeClock) await clock.advance(60_000);
			await sidecar.ended;
			await place[Symbol.asyncDispose]();
		},
	};
}

describe('requests', () => {
	it('replies come in any order: a slow question does not hold up the one behind it', async () => {
		await using running = await run();
		await using client = await running.open();
		client.request(1, 'getService', { service: 'slow' });
		client.request(2, 'getService', { service: 'barista' });
		expect(await client.next()).toMatchObject({ id: 2, data: { host: '1.2.3.4' } });
		running.source.publish('slow', ['5.6.7.8']);
		expect(await client.next()).toMatchObject({ id: 1, data: { host: '5.6.7.8' } });
	});

	it('an id that is in flight is refused, and the first request goes on', async () => {
		await using running = await run();
		await using client = await running.open();
		client.request(1, 'getService', { service: 'slow' });
		expect(await client.ask(1, 'ping')).toMatchObject({
			id: 1,
			error: { code: 'BAD_REQUEST', details: { path: 'id' } },
		});
		running.source.publish('slow', ['5.6.7.8']);
		expect(await client.next()).toMatchObject({ id: 1, data: { host: '5.6.7.8' } });
	});

	it('more in flight than inFlightMax are OVERLOADED, and what is known is still answered', async () => {
		await using running = await run({ inFlightMax: 2 });
		await using client = await running.open();
		client.request(1, 'getService', { service: 'slow' });
		client.request(2, 'getService', { service: 'slow' });
		expect(await client.ask(3, 'getService', { service: 'slow' })).toMatchObject({
			id: 3,
			error: { code: 'OVERLOADED', retryable: true },
		});
		running.source.publish('slow', ['5.6.7.8']);
		expect([await client.next(), await client.next()]).toMatchObject([{ id: 1 }, { id: 2 }]);
		expect(await client.ask(4, 'getService', { service: 'slow' })).toMatchObject({ id: 4, data: { host: '5.6.7.8' } });
	});

	it('cancel frees the id and aborts the work; nobody is answered', async () => {
		await using running = await run();
		await using client = await running.open();
		client.request(1, 'getService', { service: 'slow' });
		client.send({ func: 'cancel', data: { id: 1 } });
		expect(await client.ask(1, 'ping', 'again')).toEqual({ id: 1, data: 'again' });
		expect(running.source.aborts).toBe(1);
		running.source.publish('slow', ['5.6.7.8']);
		expect(await client.ask(2, 'ping')).toMatchObject({ id: 2 });
		expect(running.faults).toEqual([]);
	});

	it('a handler that throws is INTERNAL to its caller; the cause is told here and not there, and the others go on', async () => {
		await using running = await run();
		await using client = await running.open();
		running.source.failure = new Error('token=s3cret');
		const failure = await client.ask(1, 'listServices');
		expect(failure).toMatchObject({ id: 1, error: { code: 'INTERNAL', retryable: true } });
		expect(JSON.stringify(failure)).not.toContain('s3cret');
		expect(running.faults).toMatchObject([{ message: 'token=s3cret' }]);
		expect(await client.ask(2, 'ping', 1)).toEqual({ id: 2, data: 1 });
	});

	it('what this sidecar has closed is UNAVAILABLE to its caller: the next one may know', async () => {
		await using running = await run();
		await using client = await running.open();
		running.source.failure = new SpockError('CLOSED', 'the registrations were closed');
		expect(await client.ask(1, 'listServices')).toMatchObject({
			id: 1,
			error: { code: 'UNAVAILABLE', message: 'the sidecar is shutting down', retryable: true },
		});
		expect(running.faults).toEqual([]);
	});

	it('an answer longer than a frame may be is a failure of that request alone', async () => {
		await using running = await run({ frameBytesMax: 1024 });
		await using client = await running.open();
		running.source.publish(
			'many',
			Array.from({ length: 20 }, (_, index) => `10.0.0.${index}`),
		);
		expect(await client.ask(1, 'getInstances', { service: 'many' })).toMatchObject({
			id: 1,
			error: { code: 'FRAME_TOO_LARGE' },
		});
		expect(await client.ask(2, 'ping', 1)).toEqual({ id: 2, data: 1 });
	});

	it('shares a service out over everybody who asks, and equal keys get the same instance', async () => {
		await using running = await run();
		running.source.publish('three', ['a', 'b', 'c']);
		await using first = await running.open();
		await using second = await running.open();
		const hosts: unknown[] = [];
		for (let turn = 0; turn < 3; turn++) {
			for (const client of [first, second]) {
				const reply = (await client.ask(turn, 'getService', { service: 'three' })) as Frame;
				hosts.push((reply['data'] as { host: string }).host);
			}
		}
		for (const host of ['a', 'b', 'c']) expect(hosts.filter((picked) => picked === host)).toHaveLength(2);
		const keyed = await first.ask(9, 'getService', { service: 'three', key: 'user-7' });
		expect((await second.ask(9, 'getService', { service: 'three', key: 'user-7' }))?.['data']).toEqual(keyed?.['data']);
	});

	it('an answer that is not live says so, with its age', async () => {
		await using running = await run();
		await using client = await running.open();
		running.source.publish('barista', ['1.2.3.4'], { source: 'last-known-good', ageMs: 1500, verifiedAt: 7 });
		expect(await client.ask(1, 'getService', { service: 'barista' })).toEqual({
			id: 1,
			data: { host: '1.2.3.4', port: 80, instance: '1.2.3.4', stale: true, ageMs: 1500, verifiedAt: 7 },
		});
	});
});

describe('subscriptions', () => {
	it('the snapshot now, then a push for each change, and no more after unwatch', async () => {
		await using running = await run();
		await using client = await running.open();
		const first = await client.ask(1, 'watchService', { service: 'barista' });
		expect(first).toMatchObject({ id: 1, data: { revision: 1 } });
		running.source.publish('barista', ['5.6.7.8']);
		expect(await client.next()).toMatchObject({
			event: 'service',
			data: { revision: 2, instances: [{ host: '5.6.7.8' }] },
		});
		expect(await client.ask(2, 'unwatchService', { service: 'barista' })).toEqual({ id: 2, data: null });
		running.source.publish('barista', ['9.9.9.9']);
		expect(await client.ask(3, 'ping')).toEqual({ id: 3, data: null });
		expect(running.source.watchers).toBe(0);
	});

	it('a service that is not known yet is answered when it is, and no push comes before the answer', async () => {
		await using running = await run();
		await using client = await running.open();
		client.request(1, 'watchService', { service: 'late' });
		await waitFor('the watch', () => running.source.watchers === 1);
		running.source.publish('late', ['a']);
		running.source.publish('late', ['b']);
		const reply = await client.next();
		expect(reply).toMatchObject({ id: 1, data: { service: 'late' } });
		running.source.publish('late', ['c']);
		const pushed: unknown[] = [];
		while (pushed.at(-1) !== 'c') {
			const push = (await client.next()) as Frame;
			expect(push).toMatchObject({ event: 'service' });
			pushed.push((push['data'] as { instances: { host: string }[] }).instances[0]?.host);
		}
	});

	it('a watch that could not begin pushes nothing later', async () => {
		await using running = await run();
		await using client = await running.open();
		running.source.failure = new Error('no registry');
		expect(await client.ask(1, 'watchService', { service: 'late' })).toMatchObject({ error: { code: 'INTERNAL' } });
		running.source.failure = undefined;
		running.source.publish('late', ['a']);
		expect(await client.ask(2, 'ping')).toEqual({ id: 2, data: null });
		expect(running.source.watchers).toBe(0);
	});

	it('past subscriptionsMax a watch is OVERLOADED; watching twice counts once', async () => {
		await using running = await run({ subscriptionsMax: 1 });
		await using client = await running.open();
		await client.ask(1, 'watchService', { service: 'barista' });
		expect(await client.ask(2, 'watchService', { service: 'barista' })).toMatchObject({ id: 2, data: { revision: 1 } });
		expect(await client.ask(3, 'watchService', { service: 'other' })).toMatchObject({ error: { code: 'OVERLOADED' } });
	});

	it('they end with their connection', async () => {
		await using running = await run();
		const client = await running.open();
		await client.ask(1, 'watchService', { service: 'barista' });
		client.socket.destroy();
		await waitFor('the end', () => running.source.watchers === 0);
		expect(running.reasons).toEqual(['client']);
	});

	it('a client that does not read gets the newest snapshot only, once it reads', async () => {
		await using running = await run();
		await using client = await running.open();
		await client.ask(1, 'watchService', { service: 'barista' });
		client.socket.pause();
		const hosts = Array.from({ length: 500 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
		for (let change = 0; change < 200; change++) {
			running.source.publish('barista', hosts);
			await settle();
		}
		const last = running.source.publish('barista', ['the-last']);
		expect(running.superseded.length).toBeGreaterThan(0);
		client.socket.resume();
		const revisions: number[] = [];
		while (revisions.at(-1) !== last.revision) {
			const push = (await client.next()) as Frame;
			revisions.push((push['data'] as { revision: number }).revision);
		}
		expect(revisions.length).toBeLessThan(200);
		expect(revisions).toEqual([...revisions].sort((left, right) => left - right));
	});
});

describe('clients that misbehave', () => {
	it('one that never reads its answers is not read any more, and closed as a slow consumer', async () => {
		const clock = new FakeClock();
		await using running = await run({ outputBytesMax: 65_536, slowConsumerMs: 5000 }, clock);
		await using client = await running.open();
		await using other = await running.open();
		client.socket.pause();
		const big = 'x'.repeat(100_000);
		for (let id = 1; id <= 50; id++) client.request(id, 'ping', big);
		// The sweep of the registry is one timer; the patience with this client is the other.
		await waitFor('the pause', () => clock.pendingTimers === 2);
		await clock.advance(5000);
		await waitFor('the end', () => running.reasons.includes('slow-consumer'));
		expect(await other.ask(1, 'ping', 1)).toEqual({ id: 1, data: 1 });
	});

	it('one that reads slowly in the end is read again, and loses nothing', async () => {
		await using running = await run({ outputBytesMax: 65_536 });
		await using client = await running.open();
		client.socket.pause();
		const big = 'x'.repeat(50_000);
		for (let id = 1; id <= 100; id++) client.request(id, 'ping', big);
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

describe('the end', () => {
	it('clients that said hello with goaway are told; each request in flight is answered first', async () => {
		await using running = await run({ drainTimeoutMs: 50 });
		await using client = await running.open();
		await client.ask(1, 'hello', { versions: [1], features: ['goaway'] });
		client.request(2, 'getService', { service: 'slow' });
		await waitFor('the request', () => running.sidecar.gauges().inFlight === 1);
		running.sidecar.terminate();
		expect(await client.next()).toMatchObject({ event: 'goaway', data: { reason: 'shutdown' } });
		running.source.publish('slow', ['5.6.7.8']);
		expect(await client.next()).toMatchObject({ id: 2, data: { host: '5.6.7.8' } });
		expect(await client.next()).toBeUndefined();
		client.socket.end();
		expect(await running.sidecar.ended).toBe(0);
		expect(running.source.isClosed).toBe(true);
	});

	it('a plain client is told nothing: it never said hello', async () => {
		await using running = await run({ drainTimeoutMs: 50 });
		await using client = await running.open();
		await client.ask(1, 'ping');
		running.sidecar.terminate();
		expect(await client.next()).toBeUndefined();
		client.socket.end();
		expect(await running.sidecar.ended).toBe(0);
	});

	it('while it waits for its clients it serves, accepts new ones, and says that it is not ready', async () => {
		await using running = await run();
		const client = await running.open();
		await client.ask(1, 'ping');
		expect(running.sidecar.readiness()).toEqual({ ready: true, reasons: [] });
		running.sidecar.terminate();
		await waitFor('the wait', () => running.sidecar.status().phase === 'waiting for clients');
		expect(running.sidecar.readiness().ready).toBe(false);
		await using late = await running.open();
		expect(await late.ask(1, 'getService', { service: 'barista' })).toMatchObject({ data: { host: '1.2.3.4' } });
		client.socket.destroy();
		late.socket.destroy();
		expect(await running.sidecar.ended).toBe(0);
	});

	it('is not ready before its registry has answered once, and stays ready when it is away later', async () => {
		const place = await tempSocket();
		const source = new FakeSource();
		source.failure = new Error('refused');
		const sidecar = createSidecar({ source, listen: [{ address: { path: place.path } }], limits: { graceMs: 0 } });
		await sidecar.start();
		expect(sidecar.readiness()).toMatchObject({
			ready: false,
			reasons: [expect.stringContaining('has not answered yet: refused')],
		});
		source.failure = undefined;
		await waitFor('the answer', () => sidecar.readiness().ready);
		source.failure = new Error('refused');
		expect(sidecar.readiness().ready).toBe(true);
		sidecar.terminate();
		expect(await sidecar.ended).toBe(0);
		await place[Symbol.asyncDispose]();
	});

	it('a request to end that comes while it binds is kept', async () => {
		await using place = await tempSocket();
		const sidecar = createSidecar({ source: new FakeSource(), listen: [{ address: { path: place.path } }] });
		const started = sidecar.start();
		sidecar.terminate();
		await started;
		expect(await sidecar.ended).toBe(0);
		await expect(RawClient.open(place.path)).rejects.toThrow('ENOENT');
	});

	it('an address that cannot be bound rejects the start, and leaves nothing bound', async () => {
		await using running = await run();
		await using place = await tempSocket();
		const sidecar = createSidecar({
			source: new FakeSource(),
			listen: [{ address: { path: place.path } }, { address: { path: running.place.path } }],
		});
		await expect(sidecar.start()).rejects.toThrow('a process already listens at');
		expect(await sidecar.ended).toBe(1);
		await expect(RawClient.open(place.path)).rejects.toThrow();
	});
});

it('a socket that is closed by the client while the sidecar still writes to it is no fault of anybody', async () => {
	await using running = await run();
	const client = await running.open();
	for (let id = 1; id <= 100; id++) client.request(id, 'ping', 'x'.repeat(10_000));
	client.socket.destroy();
	await once(client.socket, 'close');
	await waitFor('the end', () => running.sidecar.gauges().connections === 0);
	await using other = await running.open();
	expect(await other.ask(1, 'ping', 1)).toEqual({ id: 1, data: 1 });
});
