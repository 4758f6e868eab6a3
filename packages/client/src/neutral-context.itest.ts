import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { FakeSidecar, fakeKey, fakeSnapshot, settle, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { createDiplomat } from './connect.ts';
import { socketTransport } from './foundation/transport.ts';
import { InstanceResources } from './integrations/instance-resources.ts';

it('what the first request begins is not of that request, and keeps nothing of it', async () => {
	setFlagsFromString('--expose-gc');
	const collect = runInNewContext('gc') as () => void;
	const requests = new AsyncLocalStorage<object>();
	const seen: unknown[] = [];
	const see = (what: string): void => {
		const store = requests.getStore();
		seen.push(store === undefined ? what : `${what} within the request`);
	};
	await using place = await tempSocket();
	await using sidecar = await FakeSidecar.listen(place.path);
	sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80', '10.0.0.2:80']));
	sidecar.publishKey(fakeKey('app/max', 1, '1'));
	const transport = Object.assign((...given: Parameters<typeof socketTransport>) => {
		see('dial');
		return socketTransport(...given);
	});
	const diplomat = createDiplomat({ path: place.path, transport, idleSubscriptionMs: 3_600_000 });
	const resources = new InstanceResources({
		diplomat,
		create: () => see('create'),
		drain: async () => see('drain'),
	});
	const query = { service: 'barista' };

	const firstRequest = (): WeakRef<object> => {
		const store = { body: new Uint8Array(1024) };
		void requests.run(store, async () => {
			const address = await diplomat.getService('barista');
			diplomat.pick('barista');
			await diplomat.getService('barista');
			resources.get(query, address);
			const config = diplomat.config('app/max', { onChange: () => see('change') });
			await config.ready();
			seen.push('served');
		});
		return new WeakRef(store);
	};
	const store = firstRequest();
	await waitFor('the first request', () => seen.includes('served'));
	sidecar.publishKey(fakeKey('app/max', 2, '2'));
	sidecar.publish(fakeSnapshot('barista', 2, ['10.0.0.3:80']));
	await waitFor('both changes', () => seen.includes('drain') && seen.filter((what) => what === 'change').length === 2);
	expect(seen.filter((what) => String(what).includes('within'))).toEqual([]);
	sidecar.connection.drop();
	await waitFor('the next dial', () => seen.filter((what) => what === 'dial').length === 2);
	await waitFor('the store to be released', async () => {
		await settle();
		collect();
		return store.deref() === undefined;
	});
	await resources.close();
	await diplomat.close();
});

it('a client that is made within a request hears of nothing within it', async () => {
	const requests = new AsyncLocalStorage<string>();
	const seen: unknown[] = [];
	const see = (): void => void seen.push(requests.getStore() ?? 'no request');
	await using place = await tempSocket();
	await using sidecar = await FakeSidecar.listen(place.path);
	sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
	subscribe('spock:client:snapshot', see);
	try {
		const diplomat = requests.run('the request', () => createDiplomat({ path: place.path }));
		await diplomat.getService('barista');
		sidecar.publish(fakeSnapshot('barista', 2, ['10.0.0.2:80']));
		await waitFor('the change', () => seen.length === 2);
		expect(seen).toEqual(['no request', 'no request']);
		await diplomat.close();
	} finally {
		unsubscribe('spock:client:snapshot', see);
	}
});

it('an answer that is cached keeps nothing of the request that it was made for', async () => {
	setFlagsFromString('--expose-gc');
	const collect = runInNewContext('gc') as () => void;
	const requests = new AsyncLocalStorage<object>();
	await using place = await tempSocket();
	await using sidecar = await FakeSidecar.listen(place.path);
	sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
	const diplomat = createDiplomat({ path: place.path, idleSubscriptionMs: 3_600_000 });
	// The snapshot is here before the request, and no answer from it yet.
	const changes = diplomat.watchService('barista')[Symbol.asyncIterator]();
	await changes.next();
	const request = (): WeakRef<object> => {
		const store = { body: new Uint8Array(1024) };
		requests.run(store, () => void diplomat.getService('barista'));
		return new WeakRef(store);
	};
	const store = request();
	await waitFor('the store to be released', async () => {
		await settle();
		collect();
		return store.deref() === undefined;
	});
	await diplomat.close();
});

it('a configuration that is opened within a request tells of no value within it, also of one that is known', async () => {
	const requests = new AsyncLocalStorage<string>();
	const seen: unknown[] = [];
	await using place = await tempSocket();
	await using sidecar = await FakeSidecar.listen(place.path);
	sidecar.publishKey(fakeKey('app/max', 1, '1'));
	const diplomat = createDiplomat({ path: place.path });
	await diplomat.config('app/max').ready();
	const onChange = (value: string): void => void seen.push([value, requests.getStore()]);
	requests.run('the request', () => diplomat.config('app/max', { onChange }));
	expect(seen).toEqual([['1', undefined]]);
	await diplomat.close();
});
