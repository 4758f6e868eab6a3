import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { KeySource } from '@spock/protocol';
import { describeKeyContract, startFakeConsul, tempSocket } from '@spock/testkit';

import { BackendSource } from './backend-source.ts';
import { consulBackend } from './backends/consul/consul-backend.ts';
import { createLocalBackend } from './backends/local/local-backend.ts';

describeKeyContract('BackendSource over Consul', async () => {
	const fake = await startFakeConsul();
	const source = new BackendSource({ backend: consulBackend({ addresses: [fake.url], random: () => 0 }) });
	let names: string[] = [];
	return {
		keys: source.keys as KeySource,
		setKeys: (values) => {
			for (const name of names) if (!(name in values)) fake.deleteKey(name);
			for (const [name, value] of Object.entries(values)) fake.setKey(name, value);
			names = Object.keys(values);
		},
		[Symbol.asyncDispose]: async () => {
			await source.close();
			await fake.stop();
		},
	};
});

describeKeyContract('BackendSource over a services file', async () => {
	const place = await tempSocket();
	const file = join(place.directory, 'services.json');
	const write = (keys: Readonly<Record<string, string>>): void => {
		writeFileSync(`${file}.new`, JSON.stringify({ services: {}, keys }));
		renameSync(`${file}.new`, file);
	};
	write({});
	const backend = await createLocalBackend({ file });
	const source = new BackendSource({ backend });
	return {
		keys: source.keys as KeySource,
		setKeys: async (keys) => {
			write(keys);
			await backend.reload();
		},
		[Symbol.asyncDispose]: async () => {
			await source.close();
			await place[Symbol.asyncDispose]();
		},
	};
});
