import { join } from 'node:path';

import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';
import { startSidecar, TempServices, tempSocket, waitFor } from '@spock/testkit';
import { findNats, startNats } from '@spock/testkit/real-nats';
import { expect, it } from 'vitest';

import { expectOrders } from './expect-orders.ts';

const ROUND = 200;

it('events go to a broker that is found by its name, to another one when it leaves the registry, and are read from there', {
	timeout: 300_000,
}, async () => {
	await using nats = await startNats({ binary: findNats(process.env), servers: 3 });
	await using services = await TempServices.make();
	const [first, second, third] = nats.servers;
	const say = (servers: readonly (typeof first)[]): Promise<void> =>
		services.set(
			'nats',
			servers.map((server) => {
				const [host = '', port] = server?.address.split(':') ?? [];
				return { id: server?.name ?? '', host, port: Number(port) };
			}),
		);
	await say([first]);
	await using place = await tempSocket();
	const start = () =>
		startSidecar(place.path, [
			...['--backend', 'local', '--services', services.file, '--events', join(place.directory, 'events')],
			...['--events-store', 'jetstream', '--events-nats-service', 'nats', '--events-nats-replicas', '3'],
		]);
	let sidecar = await start();
	const diplomat = await connect({ path: place.path });
	const events = openEvents<{ orders: number }>({ diplomat });
	let count = 0;
	const publish = async (): Promise<void> => {
		for (const end = count + ROUND; count < end; ) events.emit('orders', ++count);
		await events.publish('orders', ++count, { until: 'stored', timeoutMs: 120_000 });
	};
	await publish();
	// The one that is used leaves the registry, and lives on; then the one after it dies.
	await say([second, third]);
	await waitFor('that it was noticed', async () => (await diplomat.getInstances('nats')).instances.length === 2);
	await first?.kill();
	await publish();
	await second?.kill();
	await first?.start();
	await say([first, third]);
	await publish();
	await sidecar.stop('SIGKILL');
	sidecar = await start();
	await publish();
	await expectOrders(events, count);
	await diplomat.drain();
	expect(await sidecar.stop()).toMatchObject({ exitCode: 0 });
});
