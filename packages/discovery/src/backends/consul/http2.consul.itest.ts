import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { findConsul, freePort, spawnProcess, startConsul, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { names } from '../../../test/polled-site.ts';
import { watchedMany } from '../../../test/watched-many.ts';

const binary = findConsul(process.env);
/** Above what an agent allows of connections, and of streams on one. */
const SERVICES = 600;

it('over TLS hundreds of queries are held on a few connections, and all of them are notified of changes', async () => {
	await using place = await tempSocket();
	const directory = join(place.directory, 'tls');
	mkdirSync(directory);
	for (const args of [
		['ca', 'create'],
		['cert', 'create', '-server'],
	]) {
		expect(await spawnProcess(binary, ['tls', ...args], { cwd: directory }).finished).toMatchObject({ exitCode: 0 });
	}
	const at = (name: string): string => join(directory, name);
	const port = await freePort();
	await using consul = await startConsul({
		binary,
		hcl: [
			`ports { https = ${port} }`,
			`tls { https { cert_file = "${at('dc1-server-consul-0.pem')}" key_file = "${at('dc1-server-consul-0-key.pem')}" } }`,
			'limits { http_max_conns_per_client = 20 }',
		],
	});
	const register = (name: string, number: number): Promise<void> =>
		consul.put('/v1/agent/service/register', { Name: name, ID: name, Address: '10.0.0.1', Port: number });
	for (const name of names(SERVICES)) await register(name, 1);
	const tls = { caFile: at('consul-agent-ca.pem'), serverName: 'server.dc1.consul' };
	await using one = watchedMany([`https://127.0.0.1:${port}`], { tls, random: Math.random });
	const all = names(SERVICES).map((name) => one.watch(name));
	const ports = (): (number | undefined)[] => all.map(({ answers }) => answers.at(-1)?.[0]?.port);
	await waitFor('all answers', () => ports().every((seen) => seen === 1), 60_000);
	// Some may have shared a watch until it was known that there is room.
	await waitFor('a query for each', () => one.polled() === 0, 60_000);
	for (const name of names(SERVICES)) await register(name, 2);
	await waitFor('all changes', () => ports().every((seen) => seen === 2), 60_000);
	for (const { errors } of all) expect(errors).toEqual([]);
	await consul.kill();
	await waitFor('every failure', () => all.every(({ errors }) => errors.length > 0), 60_000);
	await consul.restart();
	for (const name of names(SERVICES)) await register(name, 3);
	await waitFor('all of it again', () => ports().every((seen) => seen === 3), 60_000);
}, 240_000);
