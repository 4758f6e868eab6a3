import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';

import type { ServiceInstance, ServiceQuery } from '@spock/protocol';
import { findConsul, type RealConsul, startConsul, waitFor } from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { describeBackendContract } from '../../../test/run-contract.ts';
import type { BackendFixture } from '../../contract/index.ts';
import type { Backend } from '../../foundation/backend.ts';
import { dnsBackend } from './dns-backend.ts';
import type { DnsBackendOptions } from './dns-options.ts';

const binary = findConsul(process.env);
let consul: RealConsul;
let server: string;

beforeAll(async () => {
	const free = createServer().listen(0, '127.0.0.1');
	await once(free, 'listening');
	const { port } = free.address() as { readonly port: number };
	await new Promise<void>((resolve) => free.close(() => resolve()));
	server = `127.0.0.1:${port}`;
	consul = await startConsul({ binary, hcl: [`ports { dns = ${port} }`] });
});
afterAll(() => consul?.[Symbol.asyncDispose]());

const registered = new Set<string>();

async function register(service: string, host: string, port: number, more: object = {}): Promise<void> {
	const id = `${service}-${host}-${port}`;
	registered.add(id);
	await consul.put('/v1/agent/service/register', { ID: id, Name: service, Address: host, Port: port, ...more });
}

async function deregister(isOld: (id: string) => boolean): Promise<void> {
	for (const id of [...registered].filter(isOld)) {
		registered.delete(id);
		await consul.put(`/v1/agent/service/deregister/${id}`);
	}
}

const fast = (): DnsBackendOptions => ({
	servers: [server],
	ttlMsMin: 20,
	attemptTimeoutMs: 100,
	timeoutMs: 250,
	random: () => 0,
});

function areThreadsStopped(pid: number): boolean {
	return readdirSync(`/proc/${pid}/task`).every((thread) => {
		// Behind the name, which stands in parentheses, comes the state: T for stopped.
		return /\) T /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8'));
	});
}

async function makeFixture(): Promise<BackendFixture> {
	await deregister(() => true);
	const backend = dnsBackend(fast());
	let isStopped = false;
	const setReachable = async (isReachable: boolean): Promise<void> => {
		if (isStopped === isReachable) process.kill(consul.pid, isReachable ? 'SIGCONT' : 'SIGSTOP');
		isStopped = !isReachable;
		// The signal is sent at once and felt later: a thread that still runs would answer one more question.
		if (isStopped) await waitFor('every thread of Consul to stop', () => areThreadsStopped(consul.pid));
	};
	return {
		backend,
		setReachable,
		setService: async (service, instances) => {
			const wanted = new Set(instances.map(({ host, port }) => `${service}-${host}-${port}`));
			for (const { host, port } of instances) await register(service, host, port);
			await deregister((id) => id.startsWith(`${service}-`) && !wanted.has(id));
		},
		close: async () => {
			await setReachable(true);
			await backend.close();
		},
	};
}

describeBackendContract('the DNS interface of a real Consul', makeFixture, { canList: false });

/** The first answer to a query that is not empty. */
async function firstAnswer(backend: Backend, query: ServiceQuery): Promise<readonly ServiceInstance[]> {
	let found: readonly ServiceInstance[] = [];
	const watch = backend.watch(query, {
		answered: (instances) => {
			found = instances;
		},
		failed: () => undefined,
	});
	await waitFor('an answer', () => found.length > 0);
	watch.stop();
	return found;
}

describe('the DNS interface of a real Consul', () => {
	it('gives weights, and answers for a tag and a datacenter', async () => {
		await deregister(() => true);
		await register('barista', '10.0.0.1', 80, { Tags: ['v1'], Weights: { Passing: 7, Warning: 1 } });
		await register('barista', '10.0.0.2', 81, { Tags: ['v2'], Weights: { Passing: 3, Warning: 1 } });
		const backend = dnsBackend(fast());
		expect(await firstAnswer(backend, { service: 'barista' })).toMatchObject([
			{ instance: '0a000001.addr.dc1.consul:80/10.0.0.1', host: '10.0.0.1', port: 80, weight: 7, status: 'passing' },
			{ host: '10.0.0.2', port: 81, weight: 3 },
		]);
		const tagged = await firstAnswer(backend, { service: 'barista', tags: ['v2'], datacenter: 'dc1' });
		expect(tagged).toMatchObject([{ host: '10.0.0.2', tags: ['v2'], datacenter: 'dc1' }]);
		await backend.probe?.({ timeoutMs: 5000 });
		await backend.close();
	});

	it('a name that is a tag, a kind or a part of another question to Consul is no service', async () => {
		await deregister(() => true);
		await register('v1', '10.0.0.1', 80, { Tags: ['api', 'v1.2'] });
		const backend = dnsBackend(fast());
		const queries: readonly ServiceQuery[] = [
			...['api.v1', '_v1._api', '_v1._tcp'].map((service) => ({ service })),
			{ service: '_v1', tags: ['_api'] },
			{ service: '_v1', tags: ['_tcp'] },
			{ service: 'api', datacenter: 'v1.service' },
		];
		for (const query of queries) {
			const answers: (readonly ServiceInstance[])[] = [];
			const watch = backend.watch(query, { answered: (found) => answers.push(found), failed: () => undefined });
			await waitFor('an answer', () => answers.length > 0);
			expect([query, answers]).toEqual([query, [[]]]);
			watch.stop();
		}
		// A tag may have dots: what stands before the service is the tag.
		expect(await firstAnswer(backend, { service: 'v1', tags: ['v1.2'] })).toHaveLength(1);
		await backend.close();
	});

	it.each<[what: string, options: DnsBackendOptions]>([
		['over UDP on this machine', { protocol: 'udp' }],
		['over UDP as from another machine', { protocol: 'udp', udpPayloadBytes: 1232 }],
		['over TCP', { protocol: 'tcp' }],
	])('gives every one of 250 instances %s', async (_what, options) => {
		await deregister(() => true);
		for (let number = 0; number < 250; number++) await register('many', `10.0.1.${number}`, 80);
		const backend = dnsBackend({ ...fast(), ...options, attemptTimeoutMs: 5000, timeoutMs: 10_000 });
		expect(await firstAnswer(backend, { service: 'many' })).toHaveLength(250);
		await backend.close();
		await deregister(() => true);
	});
});
