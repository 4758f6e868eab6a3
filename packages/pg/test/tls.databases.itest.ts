import type { Diplomat } from '@spock/client';
import { makeAuthority, tcpListener } from '@spock/testkit';
import { findPostgres, type RealPostgres, startPostgres } from '@spock/testkit/real-databases';
import pg from 'pg';
import oldestPg from 'pg-oldest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { connect, diplomatTo, SERVICE } from './instances.ts';

const authority = makeAuthority();
const stranger = makeAuthority('a stranger');

let server: RealPostgres;
beforeAll(async () => {
	const tls = authority.issue({ names: ['localhost', '127.0.0.1'] });
	server = await startPostgres({ binaries: findPostgres(process.env), tls });
});
afterAll(() => server[Symbol.asyncDispose]());

describe.each([
	['pg 8.23', pg],
	['pg 8.11', oldestPg as typeof pg],
])('TLS, %s', (_version, { Client }) => {
	const to = (host: string): Promise<Diplomat> => diplomatTo({ host, port: server.port });

	it.each(['127.0.0.1', 'localhost'])('the certificate is checked against the instance’s host, %s', async (host) => {
		await using diplomat = await to(host);
		for (const ssl of [{ ca: authority.ca }, { ca: authority.ca, servername: 'localhost' }]) {
			const client = await connect(diplomat, { ssl }, undefined, Client);
			expect((await client.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')).rows).toEqual([
				{ ssl: true },
			]);
			await client.end();
		}
	});

	it('a connection string with another host changes nothing of that', async () => {
		await using diplomat = await to('127.0.0.1');
		const connectionString = 'postgres://postgres@elsewhere.example/postgres';
		const client = await connect(diplomat, { connectionString, ssl: { ca: authority.ca } }, undefined, Client);
		await client.end();
	});

	it.each([
		['of an unknown authority', { ssl: { ca: stranger.ca } }, undefined, /certificate/],
		['for another name', { ssl: { ca: authority.ca } }, 'db.example', /altnames/],
		['for another name, in ssl', { ssl: { ca: authority.ca, servername: 'db.example' } }, undefined, /altnames/],
	])('a certificate %s: an error that names the service', async (_what, config, servername, message) => {
		await using diplomat = await to('127.0.0.1');
		const error = await connect(diplomat, config, servername, Client).catch((reason: unknown) => reason);
		expect(error).toMatchObject({
			code: 'UNAVAILABLE',
			details: { service: SERVICE, instance: 'db-0' },
			cause: { message: expect.stringMatching(message) },
		});
	});

	it('a server without TLS: an error that names the service', async () => {
		const plain = await tcpListener((socket) => socket.once('data', () => socket.write('N')));
		await using diplomat = await diplomatTo(plain);
		await expect(connect(diplomat, { ssl: true }, undefined, Client)).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			details: { service: SERVICE },
			message: expect.stringContaining('does not support SSL'),
		});
		plain.close();
	});
});
