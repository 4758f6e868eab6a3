import { describeSourceContract, findConsul, type RealConsul, startConsul, TcpGate } from '@spock/testkit';
import { afterAll, beforeAll } from 'vitest';

import { consulSource } from './direct-sources.ts';

const binary = findConsul(process.env);
let consul: RealConsul;

beforeAll(async () => {
	consul = await startConsul({ binary });
});
afterAll(() => consul?.[Symbol.asyncDispose]());

describeSourceContract('consulSource, over a real Consul,', async () => {
	const gate = await TcpGate.open(Number(new URL(consul.url).port));
	// Retries come at once, because the random number is 0: nothing here waits for a back-off.
	const source = consulSource({ addresses: [gate.url], random: () => 0 });
	const registered = new Set<string>();
	const deregister = async (isOld: (id: string) => boolean): Promise<void> => {
		for (const id of [...registered].filter(isOld)) {
			registered.delete(id);
			await consul.put(`/v1/agent/service/deregister/${id}`);
		}
	};
	return {
		source,
		datacenter: 'dc1',
		setService: async (service, hosts, tags = []) => {
			const wanted = new Set(hosts.map((text) => `${service}-${text}`));
			for (const text of hosts) {
				const [host, port] = text.split(':');
				const id = `${service}-${text}`;
				registered.add(id);
				const definition = { ID: id, Name: service, Address: host, Port: Number(port), Tags: tags };
				await consul.put('/v1/agent/service/register', definition);
			}
			await deregister((id) => id.startsWith(`${service}-`) && !wanted.has(id));
		},
		holdAnswers: (isHeld) => gate.hold(isHeld),
		cutOff: (isCut) => (isCut ? gate.shut() : gate.open()),
		[Symbol.asyncDispose]: async () => {
			await source.close();
			await gate.shut();
			await deregister(() => true);
		},
	};
});
