import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';
import { freePort, runSidecar, startSidecar, TempServices, tempSocket, waitFor } from '@spock/testkit';
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

it('each stream goes to its own store; after a start with another mapping the old one gets nothing more, and the new one all that it lacks', async () => {
	const taken: number[] = [];
	const collector = createServer(async (request, response) => {
		const chunks: Buffer[] = [];
		for await (const chunk of request) chunks.push(chunk as Buffer);
		taken.push(...(JSON.parse(Buffer.concat(chunks).toString()) as { data: number }[]).map(({ data }) => data));
		response.writeHead(204).end();
	}).listen(0, '127.0.0.1');
	await once(collector, 'listening');
	await using edge = await tempSocket();
	await using centre = await tempSocket();
	const port = await freePort();
	const log = ['--backend', 'local', '--log-format', 'json', '--drain-timeout-ms', '100'];
	await using next = await startSidecar(centre.path, [
		...[...log, '--events', join(centre.directory, 'events'), '--listen', `127.0.0.1:${port}`],
	]);
	const start = (mapping: string) =>
		startSidecar(edge.path, [
			...[...log, '--events', join(edge.directory, 'events'), '--events-store-of', mapping],
			...['--events-http-url', `http://127.0.0.1:${(collector.address() as AddressInfo).port}/`],
			...['--events-relay-address', `127.0.0.1:${port}`],
		]);
	let sidecar = await start('audit=http,orders=relay');
	const diplomat = await connect({ path: edge.path });
	const events = openEvents<{ audit: number; orders: number; debug: number }>({ diplomat });
	await events.publish('audit', 1, { until: 'stored', timeoutMs: 30_000 });
	await events.publish('orders', 2, { until: 'stored', timeoutMs: 30_000 });
	await events.publish('debug', 3, { until: 'stored', timeoutMs: 30_000 });
	expect(taken).toEqual([1]);
	const shown = await run(['events', 'status', '--socket', edge.path, '--json']);
	const streams = (JSON.parse(shown) as { streams: { stream: string; store: string }[] }).streams;
	expect(Object.fromEntries(streams.map(({ stream, store }) => [stream, store]))).toEqual({
		...{ audit: 'http', orders: 'relay', debug: 'embedded' },
	});

	await sidecar.stop();
	sidecar = await start('audit=relay,orders=http');
	await events.publish('audit', 4, { until: 'stored', timeoutMs: 30_000 });
	await events.publish('orders', 5, { until: 'stored', timeoutMs: 30_000 });
	// That takes what it was sent on trust, so the events that were stored elsewhere do not go there.
	expect(taken).toEqual([1, 5]);
	await using other = await connect({ path: centre.path });
	await using there = openEvents<{ audit: number; orders: number }>({ diplomat: other });
	const read = async (stream: 'audit' | 'orders', last: number): Promise<number[]> => {
		const numbers: number[] = [];
		for await (const event of there.consume(stream, { from: 'first' })) {
			numbers.push(event.data);
			event.ack();
			if (event.data === last) break;
		}
		return numbers;
	};
	expect(await read('audit', 4)).toEqual([1, 4]);
	await there.publish('orders', 6);
	expect(await read('orders', 6)).toEqual([2, 6]);
	await events.close();
	await diplomat.close();
	await sidecar.stop();
	await next.stop();
	collector.closeAllConnections();
	collector.close();
});

async function run(args: readonly string[]): Promise<string> {
	const { stdout, stderr, exitCode } = await runSidecar(args).finished;
	expect(exitCode, stderr).toBe(0);
	return stdout;
}
