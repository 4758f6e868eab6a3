import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';

import { storeContract } from '@spock/events/contract';
import { RelayStore } from '@spock/events/stores';
import { freePort, tempSocket } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { eventAt, relayFixture } from './relay-fixture.ts';
import { sidecarOnDisk } from './sidecar-on-disk.ts';

describe('the relay keeps what an EventStore promises of what it is given', () => {
	for (const { name, run } of storeContract(() => relayFixture(), { isReadElsewhere: true })) it(name, run);
});

it('is not read here, and says where to', async () => {
	const store = new RelayStore({ owner: 'log-1', access: () => Promise.reject(new Error('nobody asks')) });
	await expect(store.reader('orders')).rejects.toMatchObject({ code: 'BAD_REQUEST', message: /consume it there/ });
	await expect(store.deleteGroup('orders', 'g')).rejects.toMatchObject({ message: /delete it there/ });
	await store.close();
});

it.each([true, false])('takes a tenth of the bytes where events are alike, if it packs them: %s', async (packs) => {
	await using place = await tempSocket();
	const port = await freePort();
	const listen = [{ address: { host: '127.0.0.1', port } }];
	const next = await sidecarOnDisk(place.path, join(place.directory, 'events'), listen);
	let bytes = 0;
	const meter = createServer((from) => {
		const to = connect(port, '127.0.0.1');
		from.on('data', (chunk) => {
			bytes += chunk.length;
		});
		from.pipe(to).pipe(from);
		for (const socket of [from, to]) socket.on('error', () => undefined);
	}).listen(0, '127.0.0.1');
	await once(meter, 'listening');
	const access = async () => ({ host: '127.0.0.1', port: (meter.address() as AddressInfo).port });
	const store = new RelayStore({ owner: 'log', access, packs });
	const events = Array.from({ length: 1000 }, (_, index) =>
		eventAt(index + 1, 'orders', { total: index, note: 'alike' }),
	);
	const plainBytes = events.reduce((sum, { text }) => sum + text.length, 0);
	for (let index = 0; index < events.length; index += 100) {
		await store.append('orders', events.slice(index, index + 100), () => undefined);
	}
	expect(bytes < plainBytes / 8).toBe(packs);
	await store.close();
	await next.end();
	meter.close();
});
