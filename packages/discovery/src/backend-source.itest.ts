import { writeFileSync } from 'node:fs';

import { describeSourceContract, FakeDns, startFakeConsul, TcpGate, tempSocket, waitFor } from '@spock/testkit';

import { BackendSource } from './backend-source.ts';
import { consulSource, dnsSource, localSource } from './direct-sources.ts';
import type { DiscoveryEvent } from './foundation/discovery-event.ts';

// Retries come at once, because the random number is 0: nothing here waits for a back-off.
const random = (): number => 0;

function split(text: string): { readonly host: string; readonly port: number } {
	const [host = '', port = ''] = text.split(':');
	return { host, port: Number(port) };
}

describeSourceContract('consulSource, over a fake Consul,', async () => {
	const fake = await startFakeConsul();
	const gate = await TcpGate.open(Number(new URL(fake.url).port));
	const source = consulSource({ addresses: [gate.url], random, emptyHoldMs: 0 });
	return {
		source,
		datacenter: 'dc1',
		setService: (service, hosts, tags = []) => {
			fake.set(
				service,
				hosts.map(split).map(({ host, port }) => ({ id: `${host}:${port}`, address: host, port, tags })),
			);
		},
		holdAnswers: (isHeld) => gate.hold(isHeld),
		cutOff: (isCut) => (isCut ? gate.shut() : gate.open()),
		[Symbol.asyncDispose]: async () => {
			await source.close();
			await gate.shut();
			await fake.stop();
		},
	};
});

describeSourceContract(
	'localSource',
	async () => {
		const place = await tempSocket();
		const file = `${place.directory}/services.json`;
		const services: Record<string, unknown> = {};
		const write = (): void => writeFileSync(file, JSON.stringify({ services }));
		write();
		let loads = 0;
		let isClosed = false;
		const onEvent = ({ type }: DiscoveryEvent): void => {
			if (type === 'services-file-loaded') loads++;
		};
		const source = await localSource({ file, pollMs: 20, onEvent });
		source.close = async function close() {
			isClosed = true;
			await BackendSource.prototype.close.call(source);
		};
		return {
			source,
			datacenter: 'dc1',
			setService: async (service, hosts, tags = []) => {
				services[service] = hosts.map((text) => ({ ...split(text), tags, datacenter: 'dc1' }));
				if (hosts.length === 0) delete services[service];
				const before = loads;
				write();
				await waitFor('the file to be read', () => isClosed || loads > before);
			},
			[Symbol.asyncDispose]: async () => {
				await source.close();
				await place[Symbol.asyncDispose]();
			},
		};
	},
	{ isEmbedded: true },
);

describeSourceContract(
	'dnsSource',
	async () => {
		const dns = await FakeDns.listen();
		const nameTemplate = '[{tag}.]{service}.test';
		const source = dnsSource({
			servers: [dns.address],
			nameTemplate,
			ttlMsMin: 20,
			attemptTimeoutMs: 50,
			emptyHoldMs: 0,
			random,
		});
		return {
			source,
			setService: (service, hosts, tags = []) => {
				dns.setService(`${service}.test`, hosts);
				for (const tag of tags) dns.setService(`${tag}.${service}.test`, hosts);
			},
			holdAnswers: (isHeld) => {
				dns.fault = isHeld ? 'silent' : undefined;
			},
			cutOff: (isCut) => (isCut ? dns.stop() : dns.listen()),
			[Symbol.asyncDispose]: async () => {
				await source.close();
				await dns.stop();
			},
		};
	},
	{ canList: false, hasDatacenter: false },
);
