import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { type RunningProcess, runSidecar, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';
import type { ServiceDetail, StatusView } from '../src/admin/status-view.ts';
import { RawClient } from './raw-client.ts';

const pageDirectory = fileURLToPath(new URL('../src/admin/page/', import.meta.url));
/** The files of the page as they are in the source, by their path on the admin port. */
const pageFiles = new Map(
	readdirSync(pageDirectory).map((file) => [file === 'index.html' ? '/' : `/page/${file}`, file] as const),
);
const TYPES: Readonly<Record<string, RegExp>> = {
	'.html': /^text\/html; charset=utf-8$/,
	'.css': /^text\/css; charset=utf-8$/,
	'.js': /^text\/javascript; charset=utf-8$/,
	'.svg': /^image\/svg\+xml$/,
};

/** Where the admin port of a sidecar is. */
async function adminOf(sidecar: RunningProcess): Promise<string> {
	const address = () => /"address":"([^"]+)","msg":"admin port/.exec(sidecar.stdout())?.[1];
	return `http://${await waitFor('the admin port', address)}`;
}

async function json<T>(url: string): Promise<T> {
	return (await (await fetch(url)).json()) as T;
}

it('the JSON tells services, instances, who watches, connections and changes', async () => {
	await using place = await tempSocket();
	const services = join(place.directory, 'services.json');
	const write = (instances: readonly object[]): void =>
		writeFileSync(services, JSON.stringify({ services: { barista: instances } }));
	write([{ id: 'b1', host: '10.0.0.1', port: 80, weight: 3 }]);
	await using sidecar = await startSidecar(place.path, ['--services', services, '--admin', '127.0.0.1:0']);
	const admin = await adminOf(sidecar);
	await using client = await RawClient.open(place.path);
	await client.ask(1, 'hello', { versions: [1], client: 'test/1.0', pid: 4711, features: ['push'] });
	await client.ask(2, 'watchService', { service: 'barista' });
	write([
		{ id: 'b1', host: '10.0.0.1', port: 80, weight: 3, status: 'critical' },
		{ id: 'b2', host: '10.0.0.2', port: 80 },
	]);
	await client.next();
	const view = await waitFor('rates', async () => {
		const told = await json<StatusView>(`${admin}/status.json`);
		return told.overview.rates !== null && told.changes.length === 1 ? told : undefined;
	});
	expect(view.overview).toMatchObject({ phase: 'serving', ready: true, services: 1, connections: 1, subscriptions: 1 });
	expect(view.overview.latency.total.reduce((sum, count) => sum + count, 0)).toBe(2);
	const [service] = view.services;
	expect(service).toMatchObject({ service: 'barista', state: 'fresh', instances: 2, healthy: 1, readers: 1 });
	expect(view.connections).toMatchObject({
		count: 1,
		rows: [{ id: expect.any(Number), client: 'test/1.0', pid: 4711, subscriptions: 1, requests: 2 }],
	});
	expect(view.changes[0]).toMatchObject({
		service: 'barista',
		instances: [
			{ what: 'changed', instance: 'b1', fields: [{ name: 'status', from: 'passing', to: 'critical' }] },
			{ what: 'came', instance: 'b2', address: '10.0.0.2:80' },
		],
	});
	const detail = await json<ServiceDetail>(`${admin}/service.json?key=${encodeURIComponent(service?.key ?? '')}`);
	expect(detail.instances).toMatchObject([
		{ instance: 'b1', weight: 3, status: 'critical', included: false, changedAt: expect.any(Number) },
		{ instance: 'b2', included: true },
	]);
	const pushed = { whole: 1, delta: 0, parts: 0, lastBytes: expect.any(Number) };
	expect(detail.watchers).toEqual([{ connection: expect.any(Number), client: 'test/1.0', pid: 4711, pushed }]);
	expect((await fetch(`${admin}/service.json?key=nobody`)).status).toBe(404);
	expect((await fetch(`${admin}/service.json`)).status).toBe(404);
});

it('the built program has every file of the page, as it is in the source', async () => {
	await using place = await tempSocket();
	await using sidecar = await startSidecar(place.path, ['--admin', '127.0.0.1:0']);
	const admin = await adminOf(sidecar);
	const style = await (await fetch(`${admin}/page/style.css`)).text();
	for (const [path, file] of pageFiles) {
		const source = readFileSync(join(pageDirectory, file), 'utf8');
		// The styles are served as one.
		if (extname(file) === '.css') {
			expect(style).toContain(source);
			continue;
		}
		const response = await fetch(`${admin}${path}`);
		expect([path, response.status]).toEqual([path, 200]);
		expect(response.headers.get('content-type')).toMatch(TYPES[extname(file)] as RegExp);
		expect(await response.text()).toBe(source);
	}
});

it('the events of a sidecar that ends, end', async () => {
	await using place = await tempSocket();
	await using sidecar = await startSidecar(place.path, ['--admin', '127.0.0.1:0']);
	const response = await fetch(`${await adminOf(sidecar)}/events`);
	const reading = response.text();
	expect(await sidecar.stop('SIGTERM')).toMatchObject({ exitCode: 0 });
	const text = await reading;
	expect(text).toContain('event: overview');
	expect(text.endsWith('event: end\ndata: {}\n\n')).toBe(true);
});

it('other machines must be allowed, by an option', async () => {
	await using place = await tempSocket();
	const args = ['start', '--socket', place.path, '--backend', 'local', '--admin', '0.0.0.0:0'];
	await using refused = runSidecar(args);
	const { exitCode, stdout } = await refused.finished;
	expect([exitCode, stdout]).toEqual([2, expect.stringContaining('allow it with --admin-any')]);
	await using sidecar = await startSidecar(place.path, [
		'--admin',
		'0.0.0.0:0',
		'--admin-any',
		'--admin-allowed-hosts',
		'spock.test',
	]);
	const admin = await adminOf(sidecar);
	expect((await fetch(admin.replace('0.0.0.0', '127.0.0.1'))).status).toBe(200);
});

it('no token is on any page, whatever fails', async () => {
	await using place = await tempSocket();
	const secrets = {
		token: 'secret-token-of-clients-1',
		consul: 'deadbeef-0000-4000-8000-00000000b001',
		file: 'secret-token-of-a-file-22',
	};
	const tokenFile = join(place.directory, 'tokens');
	writeFileSync(tokenFile, `${secrets.file}\n`);
	const services = join(place.directory, 'services.json');
	writeFileSync(
		services,
		JSON.stringify({
			services: { barista: [{ host: 'h', port: 1, meta: { password: 'secret-meta' } }] },
			keys: { k: 'secret-value' },
		}),
	);
	const env = { SPOCK_TOKEN: secrets.token, CONSUL_HTTP_TOKEN: secrets.consul, CONSUL_HTTP_ADDR: 'http://127.0.0.1:9' };
	const args = ['--backend', 'consul,local', '--services', services, '--token-file', tokenFile, '--token-on-socket'];
	await using sidecar = await startSidecar(place.path, [...args, '--admin', '127.0.0.1:0', '--log-level', 'trace'], {
		env,
	});
	const admin = await adminOf(sidecar);
	await using client = await RawClient.open(place.path);
	await client.ask(1, 'hello', { versions: [1], client: 'test/1.0', token: secrets.file });
	await client.ask(2, 'watchService', { service: 'barista' });
	await client.ask(3, 'watchKey', { key: 'k' });
	await using stranger = await RawClient.open(place.path);
	await stranger.ask(1, 'hello', { versions: [1], client: 'stranger', token: 'secret-token-of-a-stranger' });
	const paths = [
		...pageFiles.keys(),
		'/livez',
		'/readyz',
		'/metrics',
		'/status.json',
		'/service.json?key=barista',
		'/nothing',
	];
	const said = await Promise.all(paths.map(async (path) => (await fetch(`${admin}${path}`)).text()));
	const events = await fetch(`${admin}/events`);
	const reader = events.body?.getReader();
	said.push(new TextDecoder().decode((await reader?.read())?.value));
	await reader?.cancel();
	const text = said.join('\n');
	expect(text).toContain('"service":"barista"');
	expect(text).toContain('test/1.0');
	expect(text).not.toMatch(/secret-|deadbeef/);
});
