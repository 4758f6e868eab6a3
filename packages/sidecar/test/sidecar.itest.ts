import { SpockError } from '@spock/protocol';
import { settle, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import type { Frame } from './raw-client.ts';
import { run } from './running-sidecar.ts';

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

	it('a watch that is cancelled before its answer is none: nothing is pushed, nothing stays subscribed', async () => {
		await using running = await run();
		await using client = await running.open();
		client.request(1, 'watchService', { service: 'slow' });
		client.send({ func: 'cancel', data: { id: 1 } });
		expect(await client.ask(2, 'ping', 1)).toEqual({ id: 2, data: 1 });
		expect(running.source.watchers).toBe(0);
		running.source.publish('slow', ['5.6.7.8']);
		running.source.publish('slow', ['5.6.7.9']);
		expect(await client.ask(3, 'ping', 2)).toEqual({ id: 3, data: 2 });
		expect(running.sidecar.gauges().subscriptions).toBe(0);
	});

	it('another watch of the same query that still waits is answered and goes on', async () => {
		await using running = await run();
		await using client = await running.open();
		client.request(1, 'watchService', { service: 'slow' });
		client.request(2, 'watchService', { service: 'slow' });
		client.send({ func: 'cancel', data: { id: 1 } });
		expect(await client.ask(3, 'ping', 1)).toEqual({ id: 3, data: 1 });
		running.source.publish('slow', ['5.6.7.8']);
		expect(await client.next()).toMatchObject({ id: 2, data: { revision: 2 } });
		running.source.publish('slow', ['5.6.7.9']);
		expect(await client.next()).toMatchObject({ event: 'service', data: { revision: 3 } });
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

	it('so is one that throws at once', async () => {
		await using running = await run();
		await using client = await running.open();
		running.source.peek = () => {
			throw new Error('token=s3cret');
		};
		expect(await client.ask(1, 'getService', { service: 'barista' })).toMatchObject({
			id: 1,
			error: { code: 'INTERNAL' },
		});
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
