import { describeKeyContract, FakeSidecar, fakeKey, fakePrefix, tempSocket } from '@spock/testkit';

import { resolveOptions } from '../foundation/options.ts';
import { RemoteSource } from './remote-source.ts';

describeKeyContract('RemoteSource over a socket', async () => {
	const place = await tempSocket();
	const sidecar = await FakeSidecar.listen(place.path);
	const source = new RemoteSource(resolveOptions({ path: place.path }));
	await source.connection.ready();
	let revision = 1;
	let names: string[] = [];
	return {
		keys: source.keys,
		setKeys: (values) => {
			revision++;
			for (const name of new Set([...names, ...Object.keys(values)])) {
				sidecar.publishKey(fakeKey(name, revision, values[name] ?? null));
			}
			names = Object.keys(values);
			const sorted = Object.entries(values).filter(([name]) => name.startsWith('app/'));
			sorted.sort(([left], [right]) => (left < right ? -1 : 1));
			sidecar.publishKey(fakePrefix('app/', revision, Object.fromEntries(sorted)));
		},
		[Symbol.asyncDispose]: async () => {
			await source.close();
			await sidecar.stop();
			await place[Symbol.asyncDispose]();
		},
	};
});
