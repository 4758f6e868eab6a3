import { copyFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import {
	FakeClock,
	findConsul,
	freePort,
	type RealConsul,
	spawnProcess,
	startConsul,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { expect, it } from 'vitest';

import { watchedMany } from '../../../test/watched-many.ts';
import type { ConsulTls } from './client/consul-options.ts';

const binary = findConsul(process.env);
const FILES = { ca: 'consul-agent-ca.pem', cert: 'dc1-client-consul-0.pem', key: 'dc1-client-consul-0-key.pem' };

/** A certificate authority of its own, with a certificate for the server and one for a client. */
async function authority(directory: string): Promise<string> {
	mkdirSync(directory);
	for (const args of [
		['ca', 'create'],
		['cert', 'create', '-server'],
		['cert', 'create', '-client'],
	]) {
		expect(await spawnProcess(binary, ['tls', ...args], { cwd: directory }).finished).toMatchObject({ exitCode: 0 });
	}
	return directory;
}

/** Puts files of an authority where they are looked for, each at once and whole, as a mounted secret changes. */
function install(from: string, to: string, names: Readonly<Record<string, string>>): void {
	for (const [name, file] of Object.entries(names)) {
		copyFileSync(join(from, file), join(to, `${name}.new`));
		renameSync(join(to, `${name}.new`), join(to, name));
	}
}

it('mutual TLS with a real Consul; a new authority is trusted without a restart, and a broken file changes nothing', async () => {
	await using place = await tempSocket();
	const at = (name: string): string => join(place.directory, name);
	const [first, second] = [await authority(at('first')), await authority(at('second'))];
	const server = { 's-ca': FILES.ca, 's-cert': 'dc1-server-consul-0.pem', 's-key': 'dc1-server-consul-0-key.pem' };
	install(first, place.directory, { ...FILES, ...server });
	const port = await freePort();
	await using consul: RealConsul = await startConsul({
		binary,
		hcl: [
			`ports { https = ${port} }`,
			`tls { https { ca_file = "${at('s-ca')}" cert_file = "${at('s-cert')}" key_file = "${at('s-key')}" verify_incoming = true } }`,
		],
	});
	const url = `https://127.0.0.1:${port}`;
	const tls: ConsulTls = {
		caFile: at('ca'),
		certFile: at('cert'),
		keyFile: at('key'),
		serverName: 'server.dc1.consul',
	};
	const { certFile: _cert, keyFile: _key, ...withoutCertificate } = tls;
	for (const wrong of [{}, withoutCertificate, { ...tls, serverName: 'server.dc2.consul' }]) {
		await using refused = watchedMany([url], { tls: wrong });
		await expect(refused.backend.list({})).rejects.toMatchObject({ code: 'UNAVAILABLE' });
	}

	// A directory of authorities, as a mounted secret has it; the server's is one of them.
	mkdirSync(at('authorities'));
	mkdirSync(at('authorities/..data'));
	const { caFile: _ca, ...withoutAuthority } = tls;
	const inDirectory: ConsulTls = { ...withoutAuthority, caPath: at('authorities') };
	expect(() => watchedMany([url], { tls: inDirectory })).toThrow(/authorities/);
	install(second, at('authorities'), { 'a-second.pem': FILES.ca });
	{
		const pathClock = new FakeClock();
		await using byPath = watchedMany([url], { tls: inDirectory, clock: pathClock });
		await expect(byPath.backend.list({})).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		install(first, at('authorities'), { 'b-first.pem': FILES.ca });
		await pathClock.advance(1001);
		expect(await byPath.backend.list({})).toEqual([{ name: 'consul', tags: [] }]);
	}

	const clock = new FakeClock();
	await using one = watchedMany([url], { tls, clock });
	const list = async (): Promise<unknown> => {
		// The files are looked at once a second.
		await clock.advance(1001);
		return one.backend.list({});
	};
	const told = (type: string): unknown[] => one.events.filter((event) => event.type === type);
	expect(await list()).toEqual([{ name: 'consul', tags: [] }]);

	const good = readFileSync(at('key'), 'utf8');
	for (const bad of ['', 'not a key', readFileSync(join(second, FILES.key), 'utf8')]) {
		writeFileSync(at('key'), bad);
		expect(await list()).toEqual([{ name: 'consul', tags: [] }]);
	}
	expect(told('credentials-refused').length).toBeGreaterThanOrEqual(2);
	writeFileSync(at('key'), good);
	expect(await list()).toEqual([{ name: 'consul', tags: [] }]);
	expect(told('credentials-loaded')).toHaveLength(1);

	// The whole installation moves to another authority.
	install(second, place.directory, server);
	await consul.restart();
	await expect(list()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
	install(second, place.directory, FILES);
	await waitFor(
		'the new authority',
		async () => JSON.stringify(await list().catch(() => null)) === '[{"name":"consul","tags":[]}]',
	);
	expect(told('credentials-loaded')).toHaveLength(2);
	expect(JSON.stringify(one.events)).not.toMatch(/PRIVATE KEY/);
});
