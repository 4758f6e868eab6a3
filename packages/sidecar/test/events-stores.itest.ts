import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';
import { startSidecar, TempServices, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

it('events go to a web server that is found by its name; refused ones are kept aside, and a kill of the sidecar loses none', async () => {
	const taken: number[] = [];
	let isAway = true;
	const collector = createServer(async (request, response) => {
		const chunks: Buffer[] = [];
		for await (const chunk of request) chunks.push(chunk as Buffer);
		const events = JSON.parse(Buffer.concat(chunks).toString()) as { data: number; type: string }[];
		if (isAway) return response.writeHead(503).end('later');
		if (request.url !== '/in/orders') return response.writeHead(404).end();
		if (events.some(({ data }) => data === 13)) return response.writeHead(422).end('unlucky');
		taken.push(...events.map(({ data }) => data));
		return response.writeHead(204).end();
	}).listen(0, '127.0.0.1');
	await once(collector, 'listening');
	await using services = await TempServices.make();
	const { port } = collector.address() as AddressInfo;
	await services.set('collector', [{ id: 'c', host: '127.0.0.1', port }]);
	await using place = await tempSocket();
	const start = () =>
		startSidecar(place.path, [
			...['--backend', 'local', '--services', services.file, '--events', join(place.directory, 'events')],
			...['--events-store', 'http', '--events-http-url', 'http://{address}/in/{stream}', '--log-format', 'json'],
			...['--events-http-service', 'collector', '--events-store-streams', 'orders', '--admin', '127.0.0.1:0'],
		]);
	let sidecar = await start();
	const diplomat = await connect({ path: place.path });
	const events = openEvents({ diplomat });
	for (let n = 1; n <= 20; n++) events.emit('orders', n);
	await events.flush();
	await waitFor('that the failure is said', () => sidecar.stdout().includes('"msg":"event store failed; retrying"'));
	expect(sidecar.stdout()).toContain('answered 503: later');
	await sidecar.stop('SIGKILL');
	sidecar = await start();
	isAway = false;
	await events.publish('orders', 21, { until: 'stored', timeoutMs: 30_000 });
	// A stream that is not named stays in the log.
	await events.publish('clicks', 1, { until: 'stored' });
	const once21 = Array.from({ length: 21 }, (_, index) => index + 1).filter((n) => n !== 13);
	expect([...new Set(taken)]).toEqual(once21);
	for await (const event of events.consume('orders.refused', { from: 'first' })) {
		event.ack();
		expect(event).toMatchObject({ data: 13, headers: { 'spock-refused-code': 'BAD_REQUEST' } });
		break;
	}
	await expect(events.consume('orders', { group: 'g' }).next()).rejects.toMatchObject({
		code: 'BAD_REQUEST',
		message: expect.stringContaining('goes to a web server'),
	});
	const admin = /"address":"([^"]+)"/.exec(sidecar.stdout())?.[1];
	const metrics = await (await fetch(`http://${admin}/metrics`)).text();
	expect(metrics).toContain('spock_events_parked_total{stream="orders"} 1');
	expect(metrics).toContain('spock_events_store_lag{stream="orders"} 0');
	await diplomat.close();
	expect(await sidecar.stop()).toMatchObject({ exitCode: 0 });
	collector.closeAllConnections();
	collector.close();
});
