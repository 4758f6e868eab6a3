import { BackendSource } from '@spock/discovery';
import { type BackendFixture, backendContract } from '@spock/discovery/contract';
import { describeKeyContract } from '@spock/testkit';
import { describe, it } from 'vitest';

import { sharedSidecar, upstreamOf } from './upstream-fixture.ts';

async function contractFixture(away: 'gate' | 'registryGate'): Promise<BackendFixture> {
	const shared = await sharedSidecar();
	const backend = upstreamOf([shared]);
	return {
		backend,
		setService: (service, instances) =>
			shared.consul.set(
				service,
				instances.map(({ host, port }) => ({ id: `${host}:${port}`, address: host, port })),
			),
		setReachable: (isReachable) => (isReachable ? shared[away].open() : shared[away].shut()),
		close: async () => {
			await backend.close();
			await shared[Symbol.asyncDispose]();
		},
	};
}

describe('another sidecar keeps the contract of a backend', () => {
	for (const { name, run } of backendContract(() => contractFixture('gate'))) it(name, run);
});

describe('another sidecar keeps it where its registry is away', () => {
	for (const { name, run } of backendContract(() => contractFixture('registryGate'))) {
		if (name.includes('away')) it(name, run);
	}
});

describeKeyContract('another sidecar', async () => {
	const shared = await sharedSidecar();
	const source = new BackendSource({ backend: upstreamOf([shared]) });
	const { keys } = source;
	if (keys === undefined) throw new Error('it has keys');
	const { consul } = shared;
	const known = new Set<string>();
	return {
		keys,
		setKeys: (values) => {
			for (const key of known) if (!Object.hasOwn(values, key)) consul.deleteKey(key);
			known.clear();
			for (const [key, value] of Object.entries(values)) {
				known.add(key);
				consul.setKey(key, value);
			}
		},
		[Symbol.asyncDispose]: async () => {
			await source.close();
			await shared[Symbol.asyncDispose]();
		},
	};
});
