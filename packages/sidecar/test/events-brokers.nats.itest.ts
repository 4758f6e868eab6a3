import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';
import { findConsul, type RealConsul, startConsul, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { findNats, type RealNatsServer, startNats } from '@spock/testkit/real-nats';
import { expect, it } from 'vitest';

import { expectOrders } from './expect-orders.ts';

const ROUND = 200;

/** As an operator does who lets Consul look at a broker; resolves when it was found healthy. */
async function register(consul: RealConsul, { name, address }: RealNatsServer): Promise<void> {
	const [host = '', port = ''] = address.split(':');
	const check = { TCP: address, Interval: '1s', Timeout: '1s' };
	const broker = { ID: name, Name: 'nats', Address: host, Port: Number(port), Check: check };
	await consul.put('/v1/agent/service/register', broker);
	await waitFor('a healthy broker', async () => (await healthy(consul)).includes(name));
}

async function healthy(consul: RealConsul): Promise<readonly string[]> {
	const response = await fetch(`${consul.url}/v1/health/service/nats?passing`);
	return ((await response.json()) as { Service: { ID: string } }[]).map(({ Service }) => Service.ID);
}

it('brokers are found in a real Consul, left when they leave it or die, and nothing is lost, stored twice or out of order', {
	timeout: 300_000,
}, async () => {
	await using consul = await startConsul({ binary: findConsul(process.env) });
	await using nats = await startNats({ binary: findNats(process.env), servers: 3 });
	const [first, second, third] = nats.servers as readonly [RealNatsServer, RealNatsServer, RealNatsServer];
	const deregister = ({ name }: RealNatsServer): Promise<void> => consul.put(`/v1/agent/service/deregister/${name}`);
	await using place = await tempSocket();
	await using sidecar = await startSidecar(place.path, [
		...['--consul', consul.url, '--empty-hold-ms', '0', '--events', join(place.directory, 'events')],
		...['--events-store', 'jetstream', '--events-nats-service', 'nats', '--events-nats-replicas', '3'],
	]);
	await using diplomat = await connect({ path: place.path });
	const events = openEvents<{ orders: number }>({ diplomat });
	let count = 0;
	let isOver = false;
	// Without a pause, whatever becomes of the brokers.
	const load = (async () => {
		while (!isOver) {
			for (let one = 0; one < 5; one++) events.emit('orders', ++count);
			await delay(10);
		}
	})();
	const store = async (): Promise<void> => {
		for (const end = count + ROUND; count < end; ) await delay(10);
		await events.publish('orders', ++count, { until: 'stored', timeoutMs: 120_000 });
	};

	// Before there is any, events wait in the log.
	await events.publish('orders', ++count, { until: 'persisted' });
	await register(consul, first);
	await store();
	// The one in use leaves the registry, and lives on; only after the move it dies.
	await register(consul, second);
	await deregister(first);
	await store();
	await first.kill();
	await store();
	await first.start();
	// The one in use dies, and Consul finds out by its check.
	await register(consul, third);
	await second.kill();
	await store();
	await waitFor('that Consul has noticed', async () => (await healthy(consul)).join() === third.name);
	// The last one leaves: nothing better is known, so it is used for as long as it answers, and then no more.
	await second.start();
	await deregister(second);
	await deregister(third);
	await store();
	await third.kill();
	await events.publish('orders', ++count, { until: 'persisted' });
	await register(consul, first);
	await store();
	isOver = true;
	await load;
	await events.publish('orders', ++count, { until: 'stored', timeoutMs: 120_000 });

	await expectOrders(events, count);
	await diplomat.drain();
	expect(await sidecar.stop()).toMatchObject({ exitCode: 0 });
});
