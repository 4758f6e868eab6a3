import { statSync } from 'node:fs';

import { status } from '@grpc/grpc-js';
import type { ServiceInstance } from '@spock/protocol';
import { waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { GrpcClient } from './grpc-client.ts';
import { type RunningFront, runFront } from './running-front.ts';

const LIVE = { source: 'SOURCE_LIVE', age_ms: 0, stale: false, held: false, panic: false };

function clients(front: RunningFront): [string, GrpcClient][] {
	return [
		['unix domain socket', new GrpcClient(front.unix)],
		['TCP', new GrpcClient(front.tcp)],
	];
}

describe('Get', () => {
	it('gives one healthy instance and how much it can be relied on, at both kinds of address', async () => {
		await using front = await runFront();
		for (const [where, client] of clients(front)) {
			using one = client;
			const { instance, freshness } = await one.ask('Get', { service: 'barista' });
			expect(instance, where).toMatchObject({ host: '1.2.3.4', status: 'STATUS_PASSING', weight: 1 });
			expect(freshness, where).toMatchObject(LIVE);
		}
		expect(front.answered).toEqual(['Get OK', 'Get OK']);
		expect(statSync(front.path).mode & 0o777).toBe(0o660);
	});

	it('takes turns, and gives equal keys the same instance', async () => {
		await using front = await runFront();
		front.source.publish('barista', ['1.1.1.1', '2.2.2.2', '3.3.3.3']);
		using client = new GrpcClient(front.unix);
		const hosts = async (request: object): Promise<Set<unknown>> => {
			const answers = [1, 2, 3].map(() => client.ask('Get', { service: 'barista', ...request }));
			return new Set((await Promise.all(answers)).map(({ instance }) => (instance as ServiceInstance).host));
		};
		expect((await hosts({})).size).toBe(3);
		expect((await hosts({ key: 'guest-7' })).size).toBe(1);
	});

	it('says how old an answer is, and when it was confirmed, while the registry is away', async () => {
		await using front = await runFront();
		const members = { source: 'last-known-good', ageMs: 4200.4, verifiedAt: 1_700_000_000_000, panic: true } as const;
		front.source.publish('barista', ['1.2.3.4'], members);
		using client = new GrpcClient(front.unix);
		const { freshness } = await client.ask('Get', { service: 'barista' });
		expect(freshness).toEqual({
			source: 'SOURCE_LAST_KNOWN_GOOD',
			age_ms: 4200,
			verified_at_ms: 1_700_000_000_000,
			stale: true,
			held: false,
			panic: true,
		});
	});

	it('every error is a status, with our message, and our code in the trailers', async () => {
		await using front = await runFront();
		front.source.publish('nobody', []);
		using client = new GrpcClient(front.unix);
		await expect(client.ask('Get', { service: 'nobody' })).rejects.toMatchObject({
			code: status.NOT_FOUND,
			details: 'no instance of "nobody" is registered',
		});
		const error = await client.ask('Get', { service: '' }).catch((thrown: unknown) => thrown);
		expect(error).toMatchObject({ code: status.INVALID_ARGUMENT });
		const { metadata } = error as { readonly metadata: { getMap(): object } };
		expect(metadata.getMap()).toMatchObject({ 'spock-code': 'BAD_REQUEST', 'spock-retryable': 'false' });
		front.source.failure = new Error('a secret of ours');
		await expect(client.ask('Get', { service: 'cold' })).rejects.toMatchObject({
			code: status.INTERNAL,
			details: 'an internal fault',
		});
		expect(front.faults).toHaveLength(1);
		expect(front.answered).toEqual(['Get NOT_FOUND', 'Get INVALID_ARGUMENT', 'Get INTERNAL']);
	});

	it('nobody waits for the registry when its caller does not', async () => {
		await using front = await runFront();
		using client = new GrpcClient(front.unix);
		await expect(client.ask('Get', { service: 'cold' }, { timeoutMs: 200 })).rejects.toMatchObject({
			code: status.DEADLINE_EXCEEDED,
		});
		await waitFor('the end of the question', () => front.source.aborts === 1);
		const cancelled = new Promise((resolve) => {
			const call = client.begin('Get', { service: 'cold' }, {}, (error) => resolve(error?.code));
			setImmediate(() => call.cancel());
		});
		expect(await cancelled).toBe(status.CANCELLED);
	});

	it('a request that is longer than any question is refused', async () => {
		await using front = await runFront();
		using client = new GrpcClient(front.unix);
		await expect(client.ask('Get', { service: 'x'.repeat(100_000) })).rejects.toMatchObject({
			code: status.RESOURCE_EXHAUSTED,
		});
	});
});

describe('List and Explain', () => {
	it('tell the names, and why an instance gets work; and who watches', async () => {
		await using front = await runFront();
		using client = new GrpcClient(front.tcp);
		const { services, freshness } = await client.ask('List', {});
		expect(services).toContainEqual(expect.objectContaining({ name: 'barista' }));
		expect(freshness).toMatchObject({ source: 'SOURCE_LIVE' });
		const watching = client.watch({ service: 'barista' });
		await waitFor('the first state', () => watching.messages.length === 1);
		const explained = await client.ask('Explain', { service: 'barista' });
		expect(explained).toMatchObject({ state: 'fresh', instance_count: 1, stream_count: 1, watcher_count: 0 });
		expect(explained['instances']).toEqual([
			expect.objectContaining({ host: '1.2.3.4', included: true, reason: 'all its checks pass', zone: '' }),
		]);
		const [barista] = front.source.publish('barista', ['1.2.3.4']).instances;
		const placed = barista === undefined ? [] : [{ ...barista, zone: 'eu-1a' }];
		front.source.publish('barista', [], { instances: placed });
		expect((await client.ask('Explain', { service: 'barista' }))['instances']).toMatchObject([{ zone: 'eu-1a' }]);
		watching.stream.cancel();
	});
});

describe('Watch', () => {
	it('tells the state at once and then every change, and ends with its reader', async () => {
		await using front = await runFront();
		using client = new GrpcClient(front.unix);
		const told = client.watch({ service: 'barista' });
		await waitFor('the first state', () => told.messages.length === 1);
		expect(front.sidecar.gauges()).toMatchObject({ grpcConnections: 1, grpcStreams: 1 });
		front.source.publish('barista', ['1.2.3.4', '5.6.7.8']);
		await waitFor('the change', () => told.messages.length === 2);
		expect(told.messages[1]).toMatchObject({
			service: 'barista',
			instances: [{}, { host: '5.6.7.8' }],
			freshness: LIVE,
		});
		told.stream.cancel();
		await waitFor('the end of the watch', () => front.source.watchers === 0);
		expect(front.sidecar.gauges().grpcStreams).toBe(0);
		expect(front.answered).toEqual(['Watch CANCELLED']);
	});

	it('waits for a service that nobody knows yet', async () => {
		await using front = await runFront();
		using client = new GrpcClient(front.unix);
		const told = client.watch({ service: 'late', tags: ['v2'], meta: { rack: 'b7' } });
		await waitFor('the watch', () => front.source.watchers === 1);
		front.source.publish('late', ['9.9.9.9'], { tags: ['v2'], meta: { rack: 'b7' } });
		await waitFor('the first state', () => told.messages.length === 1);
		expect(told.messages[0]).toMatchObject({ instances: [{ host: '9.9.9.9' }] });
	});

	it('who reads slowly gets the newest state, and what waits for it is one message', async () => {
		await using front = await runFront();
		using client = new GrpcClient(front.unix);
		const told = client.watch({ service: 'barista' });
		await waitFor('the first state', () => told.messages.length === 1);
		told.stream.pause();
		const hosts = Array.from({ length: 2000 }, (_, number) => `10.0.${number >> 8}.${number & 255}`);
		const changes = 100;
		for (let change = 0; change < changes; change++) {
			front.source.publish('barista', hosts.slice(change));
			await new Promise((resolve) => setImmediate(resolve));
		}
		told.stream.resume();
		const last = (): number => ((told.messages.at(-1)?.['instances'] ?? []) as unknown[]).length;
		await waitFor('the newest state', () => last() === hosts.length - changes + 1);
		// How many the two systems hold between them is theirs to say.
		expect(told.messages.length).toBeLessThan(changes);
	});

	it('who does not read at all is cut off', async () => {
		await using front = await runFront({ slowConsumerMs: 200 });
		using client = new GrpcClient(front.unix);
		const told = client.watch({ service: 'barista' });
		await waitFor('the first state', () => told.messages.length === 1);
		told.stream.pause();
		const hosts = Array.from({ length: 5000 }, (_, number) => `10.0.${number >> 8}.${number & 255}`);
		let change = 0;
		// Until what the two systems hold between them is full, however much that is.
		await waitFor('the end of the stream', () => {
			front.source.publish('barista', hosts.slice(++change % 1000));
			return front.answered.includes('Watch RESOURCE_EXHAUSTED');
		});
		expect(front.source.watchers).toBe(0);
	});
});
