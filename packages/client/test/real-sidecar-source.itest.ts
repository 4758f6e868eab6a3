import { describeSourceContract, startFakeConsul, startSidecar, TcpGate, tempSocket } from '@spock/testkit';

import { resolveOptions } from '../src/foundation/options.ts';
import { RemoteSource } from '../src/sources/remote-source.ts';

describeSourceContract('RemoteSource, over a real sidecar,', async () => {
	const fake = await startFakeConsul();
	const gate = await TcpGate.open(Number(new URL(fake.url).port));
	const place = await tempSocket();
	const start = () => startSidecar(place.path, ['--backend', 'consul', '--consul', gate.url, '--empty-hold-ms', '0']);
	let sidecar = await start();
	const source = new RemoteSource(resolveOptions({ path: place.path }));
	source.connection.start();
	await source.connection.ready();
	return {
		source,
		datacenter: 'dc1',
		setService: (service, hosts, tags = []) => {
			const instances = hosts.map((text) => {
				const [address = '', port = ''] = text.split(':');
				return { id: text, address, port: Number(port), tags };
			});
			fake.set(service, instances);
		},
		holdAnswers: (isHeld) => gate.hold(isHeld),
		cutOff: async (isCut) => {
			if (isCut) await sidecar.stop('SIGKILL');
			else sidecar = await start();
		},
		[Symbol.asyncDispose]: async () => {
			await source.close();
			await sidecar.stop('SIGKILL');
			await gate.shut();
			await fake.stop();
			await place[Symbol.asyncDispose]();
		},
	};
});
