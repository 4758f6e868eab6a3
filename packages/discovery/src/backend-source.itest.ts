import { describeSourceContract, startFakeConsul } from '@spock/testkit';

import { BackendSource } from './backend-source.ts';
import { consulBackend } from './consul/consul-backend.ts';

describeSourceContract('a BackendSource over Consul', async () => {
	const fake = await startFakeConsul();
	const source = new BackendSource({ backend: consulBackend({ addresses: [fake.url] }), emptyHoldMs: 0 });
	return {
		source,
		setService: (service, hosts) => {
			const instances = hosts.map((text) => {
				const [address = '', port = ''] = text.split(':');
				return { id: text, address, port: Number(port) };
			});
			fake.set(service, instances);
		},
		holdAnswers: (isHeld) => fake.hold(isHeld),
		[Symbol.asyncDispose]: async () => {
			await source.close();
			await fake.stop();
		},
	};
});
