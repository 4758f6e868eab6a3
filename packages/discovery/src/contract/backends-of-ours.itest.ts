import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';

import { FakeDns, startFakeConsul, TcpGate, tempSocket } from '@spock/testkit';

import { instance } from '../../test/fake-backend-source.ts';
import { describeBackendContract } from '../../test/run-contract.ts';
import { chainBackend } from '../backends/chain/chain-backend.ts';
import { consulBackend } from '../backends/consul/consul-backend.ts';
import { dnsBackend } from '../backends/dns/dns-backend.ts';
import { createLocalBackend } from '../backends/local/local-backend.ts';
import { ReplayBackend } from '../backends/replay/replay-backend.ts';
import { sortInstances } from '../foundation/snapshot-diff.ts';
import type { BackendFixture, ContractInstance } from './bench.ts';

/** Retries come at once, because the random number is 0: nothing here waits for a back-off. */
const random = (): number => 0;

/** `isPolled`: Consul has room for one query, which another service has. */
async function consulFixture(isPolled = false): Promise<BackendFixture> {
	const fake = await startFakeConsul({ isStrict: true });
	const gate = await TcpGate.open(Number(new URL(fake.url).port));
	const backend = consulBackend({ addresses: [gate.url], random, ...(isPolled && { heldMax: 1 }) });
	if (isPolled) backend.watch({ service: 'other' }, { answered: () => undefined, failed: () => undefined });
	return {
		backend,
		setService: (service, instances) =>
			fake.set(
				service,
				instances.map(({ host, port }) => ({ id: `${host}:${port}`, address: host, port })),
			),
		setReachable: (isReachable) => (isReachable ? gate.open() : gate.shut()),
		close: async () => {
			await backend.close();
			await gate.shut();
			await fake.stop();
		},
	};
}

/** Consul and a DNS server without any name, which are away together. */
async function chainFixture(consulFirst: boolean): Promise<BackendFixture> {
	const consul = await consulFixture();
	const dns = await FakeDns.listen();
	const empty = dnsBackend({ servers: [dns.address], nameTemplate: '{service}.test', ttlMsMin: 20, random });
	const backend = chainBackend({ backends: consulFirst ? [consul.backend, empty] : [empty, consul.backend] });
	return {
		backend,
		setService: consul.setService,
		setReachable: async (isReachable) => {
			await consul.setReachable?.(isReachable);
			await (isReachable ? dns.listen() : dns.stop());
		},
		close: async () => {
			await backend.close();
			await consul.close();
			await dns.stop();
		},
	};
}

async function fileFixture(): Promise<BackendFixture> {
	const place = await tempSocket();
	const file = `${place.directory}/services.json`;
	const services: Record<string, readonly ContractInstance[]> = {};
	const write = (): void => writeFileSync(file, JSON.stringify({ services }));
	write();
	const backend = await createLocalBackend({ file });
	return {
		backend,
		setService: async (service, instances) => {
			if (instances.length === 0) delete services[service];
			else services[service] = instances;
			write();
			await backend.reload();
		},
		close: async () => {
			await backend.close();
			await rm(place.directory, { recursive: true, force: true });
		},
	};
}

/** A record whose lines are given by hand. */
function replayFixture(): BackendFixture {
	const backend = new ReplayBackend('by hand');
	const times = { t: 0, at: 0, revision: 1, ageMs: 0 };
	return {
		backend,
		setService: (service, instances) => {
			const whole = instances.map(({ host, port }) => ({ ...instance(`${host}:${port}`, port), host }));
			backend.apply({ type: 'snapshot', ...times, service, source: 'live', instances: sortInstances(whole) });
		},
		close: () => backend.close(),
	};
}

describeBackendContract('Consul', () => consulFixture());
describeBackendContract('Consul that is polled', () => consulFixture(true));
describeBackendContract('a services file', fileFixture, { canBeAway: false });
describeBackendContract('Consul before an empty DNS', () => chainFixture(true));
describeBackendContract('Consul after an empty DNS', () => chainFixture(false));
// Where the record has an outage, the instances from before it are there.
describeBackendContract('a record', replayFixture, { canBeAway: false });
