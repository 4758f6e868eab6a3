import { once } from 'node:events';
import { connect } from 'node:net';

import { status } from '@grpc/grpc-js';
import { AcceptedTokens, type TokenCheck } from '@spock/sidecar';
import { FakeClock, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { GrpcClient } from './grpc-client.ts';
import { runFront } from './running-front.ts';

describe('health', () => {
	it('follows the readiness of the sidecar, as a whole and for the service', async () => {
		await using front = await runFront();
		using client = new GrpcClient(front.tcp, 'health');
		const reflection = ['grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection'];
		for (const service of ['', 'spock.v1.Discovery', 'grpc.health.v1.Health', ...reflection, 'liveness']) {
			await waitFor(service, async () => (await client.ask('Check', { service }))['status'] === 'SERVING');
		}
		await expect(client.ask('Check', { service: 'nobody' })).rejects.toMatchObject({ code: status.NOT_FOUND });
		const unknown = client.watch({ service: 'nobody' });
		await waitFor('an answer', () => unknown.messages.length === 1);
		expect(unknown.messages).toEqual([{ status: 'SERVICE_UNKNOWN' }]);
		expect(unknown.error).toBeUndefined();
	});

	it('is NOT_SERVING while the registry has never answered, and liveness is not', async () => {
		await using front = await runFront();
		using client = new GrpcClient(front.tcp, 'health');
		await waitFor('readiness', () => front.sidecar.readiness().ready);
		const told = client.watch({ service: '' });
		await waitFor('the first state', () => told.messages.length === 1);
		front.sidecar.terminate();
		expect(front.sidecar.readiness().ready).toBe(false);
		await waitFor('the news', () => told.messages.length === 2);
		expect(told.messages).toEqual([{ status: 'SERVING' }, { status: 'NOT_SERVING' }]);
	});
});

describe('the end', () => {
	it('health first, and after the drain time-out the streams end with UNAVAILABLE, and the process', async () => {
		await using front = await runFront({ graceMs: 300, drainTimeoutMs: 600 });
		using client = new GrpcClient(front.unix);
		using health = new GrpcClient(front.unix, 'health');
		const told = client.watch({ service: 'barista' });
		await waitFor('the first state', () => told.messages.length === 1);
		front.sidecar.terminate();
		expect(await health.ask('Check', { service: 'liveness' })).toEqual({ status: 'SERVING' });
		expect(await health.ask('Check', { service: '' })).toEqual({ status: 'NOT_SERVING' });
		// Until then everything is answered, and changes are told.
		expect(told.error).toBeUndefined();
		front.source.publish('barista', ['5.6.7.8']);
		await waitFor('the change', () => told.messages.length === 2);
		await waitFor('the end of the stream', () => told.error !== undefined);
		expect(told.error).toMatchObject({
			code: status.UNAVAILABLE,
			details: 'draining: this sidecar is shutting down',
		});
		expect(await front.sidecar.ended).toBe(0);
	});

	it('it waits for an app that has its connection still, and not longer', async () => {
		await using front = await runFront({ graceMs: 0, drainTimeoutMs: 60_000 });
		using client = new GrpcClient(front.unix);
		await client.ask('Get', { service: 'barista' });
		front.sidecar.terminate();
		await waitFor('the wait for it', () => front.sidecar.status().phase === 'waiting for clients');
		expect(await client.ask('Get', { service: 'barista' })).toMatchObject({ instance: { host: '1.2.3.4' } });
		client[Symbol.dispose]();
		expect(await front.sidecar.ended).toBe(0);
	});

	it('an app that goes on asking is answered until the drain time-out, and then cut off', async () => {
		await using front = await runFront({ graceMs: 0, drainTimeoutMs: 700 });
		using client = new GrpcClient(front.unix);
		await client.ask('Get', { service: 'barista' });
		front.sidecar.terminate();
		await waitFor('the wait for it', () => front.sidecar.status().phase !== 'grace');
		let isEnded = false;
		void front.sidecar.ended.then(() => {
			isEnded = true;
		});
		let answers = 0;
		while (!isEnded) {
			const answer = client.ask('Get', { service: 'barista' }, { timeoutMs: 200 });
			answers += await answer.then(
				() => 1,
				() => 0,
			);
			await new Promise((resolve) => setTimeout(resolve, 20));
		}
		expect(answers).toBeGreaterThan(0);
		expect(await front.sidecar.ended).toBe(0);
	});

	it('a second signal cuts everybody off at once', async () => {
		await using front = await runFront({ graceMs: 60_000, drainTimeoutMs: 60_000 });
		using client = new GrpcClient(front.unix);
		const told = client.watch({ service: 'barista' });
		await waitFor('the first state', () => told.messages.length === 1);
		front.sidecar.terminate();
		front.sidecar.terminate();
		await front.sidecar.ended;
		expect(front.sidecar.gauges().grpcConnections).toBe(0);
	});
});

describe('strangers', () => {
	it('use up none of the connections of those who may come, and who has a token is let in beside them', async () => {
		const token = 'a-token-of-sixteen-letters';
		await using front = await runFront({ token, connectionsMax: 2, strangersMax: 3 });
		const closed = new Set<number>();
		const silent = Array.from({ length: 8 }, (_, number) => {
			const socket = connect(Number(front.tcp.split(':').at(-1)), '127.0.0.1');
			return socket
				.resume()
				.on('error', () => undefined)
				.on('close', () => closed.add(number));
		});
		await waitFor('the oldest to make room', () => closed.size === 5);
		expect(front.limited).toEqual(Array(5).fill('strangersMax'));
		using atSocket = new GrpcClient(front.unix);
		expect(await atSocket.ask('Get', { service: 'barista' })).toMatchObject({ instance: { host: '1.2.3.4' } });
		using client = new GrpcClient(front.tcp);
		expect(await client.ask('Get', { service: 'barista' }, { token })).toMatchObject({ instance: { host: '1.2.3.4' } });
		// As many as may be are connected now.
		using late = new GrpcClient(front.tcp);
		await expect(late.ask('Get', { service: 'barista' }, { token })).rejects.toMatchObject({
			code: status.RESOURCE_EXHAUSTED,
		});
		for (const socket of silent) socket.destroy();
	});

	it('without the token get nothing but health; and what is not the token is not told to anybody', async () => {
		const token = 'a-token-of-sixteen-letters';
		await using front = await runFront({ token });
		using client = new GrpcClient(front.tcp);
		const denied = { code: status.UNAUTHENTICATED };
		const request = { service: 'barista' };
		await expect(client.ask('Get', request)).rejects.toMatchObject(denied);
		await expect(client.ask('Get', request, { token: 'another-token-which-is-wrong' })).rejects.toMatchObject({
			...denied,
			details: expect.not.stringContaining('another-token'),
		});
		const told = client.watch(request);
		await waitFor('the refusal', () => told.error !== undefined);
		expect(told.error).toMatchObject(denied);
		expect(await client.ask('Get', request, { token })).toMatchObject({ instance: { host: '1.2.3.4' } });
		using health = new GrpcClient(front.tcp, 'health');
		expect(await health.ask('Check', { service: 'liveness' })).toEqual({ status: 'SERVING' });
		using atSocket = new GrpcClient(front.unix);
		expect(await atSocket.ask('Get', request)).toMatchObject({ instance: { host: '1.2.3.4' } });
	});

	it('a stream whose token is removed ends, and those of other tokens go on', async () => {
		const [token, other] = ['a-token-of-sixteen-letters', 'another-one-of-sixteen'];
		const clock = new FakeClock();
		let accepted = new AcceptedTokens([token, other]);
		const tokens: TokenCheck = {
			find: (given) => accepted.find(given),
			accepts: (holder) => accepted.accepts(holder),
		};
		await using front = await runFront({ clock, tokens });
		using client = new GrpcClient(front.tcp);
		const request = { service: 'barista' };
		const [removed, kept] = [client.watch(request, { token }), client.watch(request, { token: other })];
		await waitFor('both', () => removed.messages.length === 1 && kept.messages.length === 1);
		accepted = new AcceptedTokens([other]);
		await clock.advance(1000);
		await waitFor('the end', () => removed.error !== undefined);
		expect(removed.error).toMatchObject({
			code: status.UNAUTHENTICATED,
			details: expect.stringContaining('call again with another'),
		});
		await expect(client.ask('Get', request, { token })).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
		front.source.publish('barista', ['5.6.7.8']);
		await waitFor('the change', () => kept.messages.length === 2);
		expect(kept.error).toBeUndefined();
	});

	it('who says nothing, or something else than HTTP/2, is cut off, and the others are served', async () => {
		await using front = await runFront({ handshakeMs: 200 });
		const silent = connect(front.path);
		const noisy = connect(front.path);
		for (const socket of [silent, noisy]) socket.on('error', () => undefined);
		noisy.write('GET / HTTP/1.1\r\nHost: x\r\n\r\nand so on, as long as it takes');
		await Promise.all([once(silent.resume(), 'close'), once(noisy.resume(), 'close')]);
		using client = new GrpcClient(front.unix);
		expect(await client.ask('Get', { service: 'barista' })).toMatchObject({ instance: { host: '1.2.3.4' } });
	});

	it('more than may connect are refused', async () => {
		await using front = await runFront({ connectionsMax: 1 });
		using first = new GrpcClient(front.unix);
		await first.ask('Get', { service: 'barista' });
		using second = new GrpcClient(front.unix);
		await expect(second.ask('Get', { service: 'barista' }, { timeoutMs: 1000 })).rejects.toBeDefined();
		expect(await first.ask('Get', { service: 'barista' })).toBeDefined();
	});

	it('the limit is for both protocols together', async () => {
		await using front = await runFront({ connectionsMax: 1 });
		using client = new GrpcClient(front.unix);
		await client.ask('Get', { service: 'barista' });
		const refused = connect(front.place.path);
		refused.on('error', () => undefined);
		await once(refused.resume(), 'close');
		expect(front.sidecar.status().connections).toBe(0);
	});
});
