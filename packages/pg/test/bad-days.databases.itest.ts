import { createDiplomat } from '@spock/client';
import { retry } from '@spock/client/integrations';
import { localSource } from '@spock/discovery';
import { freePort, makeAuthority, startSidecar, TempServices, tcpListener, tempSocket, waitFor } from '@spock/testkit';
import { findPostgres, type RealPostgres, startPostgres } from '@spock/testkit/real-databases';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { spockPg } from '../src/index.ts';
import { connect, diplomatTo, login, SERVICE } from './instances.ts';

const authority = makeAuthority();

let server: RealPostgres;
beforeAll(async () => {
	const tls = authority.issue({ names: ['localhost', '127.0.0.1'] });
	server = await startPostgres({ binaries: findPostgres(process.env), tls });
});
afterAll(() => server[Symbol.asyncDispose]());

describe('no instance', () => {
	it('of an unknown service', async () => {
		await using diplomat = await diplomatTo();
		await expect(connect(diplomat)).rejects.toMatchObject({
			code: 'NO_SUCH_SERVICE',
			message: expect.stringContaining(SERVICE),
		});
	});

	it('is healthy', async () => {
		await using diplomat = await diplomatTo({ host: server.host, port: server.port, status: 'critical' });
		const error = await connect(diplomat).catch((reason: unknown) => reason);
		expect(error).toMatchObject({ code: 'NO_HEALTHY_INSTANCE', message: expect.stringContaining(SERVICE) });
	});

	it('is known while the sidecar is away: an error within lookupTimeoutMs', async () => {
		await using place = await tempSocket();
		await using diplomat = createDiplomat({ path: place.path });
		const client = new pg.Client({ ...spockPg({ diplomat, service: SERVICE, lookupTimeoutMs: 100 }), ...login });
		const error = await client.connect().catch((reason: unknown) => reason);
		expect(error).toMatchObject({ code: 'TIMEOUT', message: expect.stringContaining(SERVICE) });
	});

	it('is known when the pool’s own time is over', async () => {
		await using place = await tempSocket();
		await using diplomat = createDiplomat({ path: place.path });
		const pool = new pg.Pool({ ...spockPg({ diplomat, service: SERVICE }), ...login, connectionTimeoutMillis: 50 });
		const error = await pool.query('SELECT 1').catch((reason: unknown) => reason);
		expect(error).toMatchObject({ cause: { code: 'TIMEOUT', details: { service: SERVICE } } });
		await pool.end();
	});
});

it('a sidecar that goes away after the first answer takes nothing with it', async () => {
	await using services = await TempServices.make();
	await services.set(SERVICE, [{ host: server.host, port: server.port }]);
	await using place = await tempSocket();
	await using sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services.file]);
	await using diplomat = createDiplomat({ path: place.path });
	await (await connect(diplomat)).end();
	await sidecar.stop('SIGKILL');
	await waitFor('the loss to be seen', () => diplomat.status().state !== 'ready');
	const client = await connect(diplomat);
	expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
	await client.end();
});

describe('an instance that', () => {
	it('refuses: an error that names it, and the next one within retry()', async () => {
		const refusing = { host: '127.0.0.1', port: await freePort() };
		await using diplomat = await diplomatTo(refusing, { host: server.host, port: server.port });
		const outcomes = await Promise.allSettled(Array.from({ length: 2 }, () => connect(diplomat)));
		const [failed] = outcomes.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
		expect(failed?.reason).toMatchObject({
			code: 'UNAVAILABLE',
			details: { service: SERVICE, instance: 'db-0', port: refusing.port },
			cause: { code: 'ECONNREFUSED' },
		});
		for (const one of outcomes) if (one.status === 'fulfilled') await one.value.end();

		const pool = new pg.Pool({ ...spockPg({ diplomat, service: SERVICE }), ...login, max: 1, maxUses: 1 });
		for (let turn = 0; turn < 4; turn++) {
			expect((await retry(() => pool.query('SELECT 1 AS one'))).rows).toEqual([{ one: 1 }]);
		}
		await pool.end();
	});

	it.each(['plain', 'TLS'])(
		'takes the connection and never answers (%s): the time-out counts, and it is ejected',
		async (kind) => {
			const mute = await tcpListener();
			await using diplomat = await diplomatTo(mute, { host: server.host, port: server.port });
			const config = { connectionTimeoutMillis: 500, ...(kind === 'TLS' && { ssl: { ca: authority.ca } }) };
			const pool = new pg.Pool({ ...spockPg({ diplomat, service: SERVICE }), ...login, ...config, maxUses: 1 });
			const errors: unknown[] = [];
			for (let turn = 0; turn < 20 && diplomat.status().ejected.length === 0; turn++) {
				await pool.query('SELECT 1').catch((error: unknown) => errors.push(error));
			}
			expect(diplomat.status().ejected).toMatchObject([{ instance: 'db-0', failures: 5 }]);
			expect(errors[0]).toMatchObject({ cause: { code: 'UNAVAILABLE', details: { instance: 'db-0' } } });
			for (let turn = 0; turn < 5; turn++) await pool.query('SELECT 1');
			await pool.end();
			mute.close();
		},
	);

	it('takes the connection and never answers a Client: an error that names it', async () => {
		const mute = await tcpListener();
		await using diplomat = await diplomatTo(mute);
		await expect(connect(diplomat, { connectionTimeoutMillis: 50 })).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			details: { service: SERVICE, instance: 'db-0' },
		});
		mute.close();
	});

	it('hangs up before it says anything', async () => {
		const rude = await tcpListener((socket) => socket.end());
		await using diplomat = await diplomatTo(rude);
		await expect(connect(diplomat)).rejects.toMatchObject({ code: 'UNAVAILABLE', details: { instance: 'db-0' } });
		rude.close();
	});

	it('has too many connections: the server’s own error, and it counts as a failure', async () => {
		const text = Buffer.from('SFATAL\0C53300\0Msorry, too many clients already\0\0');
		const head = Buffer.alloc(5);
		head.write('E');
		head.writeInt32BE(text.length + 4, 1);
		const full = await tcpListener((socket) => socket.once('data', () => socket.end(Buffer.concat([head, text]))));
		await using diplomat = await diplomatTo(full, { host: server.host, port: server.port });
		const codes = new Set<unknown>();
		for (let turn = 0; turn < 10; turn++) {
			const client = await connect(diplomat).catch((error: { readonly code: string }) => void codes.add(error.code));
			await client?.end();
		}
		expect([...codes]).toEqual(['53300']);
		expect(diplomat.status().ejected).toMatchObject([{ instance: 'db-0' }]);
		full.close();
	});

	it('does not know the database is there all the same: its error goes through, and nothing counts against it', async () => {
		await using diplomat = await diplomatTo(
			{ host: server.host, port: server.port },
			{ host: 'localhost', port: server.port },
		);
		for (let turn = 0; turn < 12; turn++) {
			await expect(connect(diplomat, { database: 'nobody' })).rejects.toMatchObject({ code: '3D000' });
		}
		expect(diplomat.status().ejected).toEqual([]);
	});

	it('does not take the password is there all the same', async () => {
		const right = { user: 'guest', password: 'right' };
		const wrong = { user: 'guest', password: 'wrong' };
		await using diplomat = await diplomatTo(
			{ host: server.host, port: server.port },
			{ host: 'localhost', port: server.port },
		);
		const owner = await connect(diplomat);
		await owner.query(`CREATE ROLE guest LOGIN PASSWORD 'right'`);
		const [{ hba_file: rules }] = (await owner.query('SHOW hba_file')).rows;
		const lines = `('host all guest all scram-sha-256'), ('host all all all trust')`;
		await owner.query(`COPY (VALUES ${lines}) TO ${pg.escapeLiteral(rules)}`);
		await owner.query('SELECT pg_reload_conf()');
		await owner.end();
		await waitFor('the new rules', async () => {
			const client = await connect(diplomat, wrong).catch(() => undefined);
			await client?.end();
			return client === undefined;
		});
		for (let turn = 0; turn < 12; turn++)
			await expect(connect(diplomat, wrong)).rejects.toMatchObject({ code: '28P01' });
		expect(diplomat.status().ejected).toEqual([]);
		await (await connect(diplomat, right)).end();
	});
});

it('all connections of a pool are in use: pg’s own error, and the instance has nothing to do with it', async () => {
	await using diplomat = await diplomatTo({ host: server.host, port: server.port });
	const spock = spockPg({ diplomat, service: SERVICE });
	const pool = new pg.Pool({ ...spock, ...login, max: 1, connectionTimeoutMillis: 1000 });
	const client = await pool.connect();
	const error = await pool.connect().catch((reason: unknown) => reason);
	expect(error).toEqual(new Error('timeout exceeded when trying to connect'));
	client.release();
	expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
	await pool.end();
});

it('a host that is a name, or an IPv6 address, or no name at all', async () => {
	await using six = await startPostgres({ binaries: findPostgres(process.env), host: '::1' });
	for (const place of [
		{ host: 'localhost', port: server.port },
		{ host: '::1', port: six.port },
	]) {
		await using diplomat = await diplomatTo(place);
		const client = await connect(diplomat);
		expect((await client.query('SELECT inet_server_port() AS port')).rows).toEqual([{ port: place.port }]);
		await client.end();
	}
	await using diplomat = await diplomatTo({ host: 'nobody.invalid', port: 5432 });
	await expect(connect(diplomat)).rejects.toMatchObject({
		code: 'UNAVAILABLE',
		details: { host: 'nobody.invalid' },
		cause: { code: expect.stringMatching(/ENOTFOUND|EAI_AGAIN/) },
	});
});

it('a new connection goes where fewer are open: a lease lasts as long as its connection', async () => {
	await using other = await startPostgres({ binaries: findPostgres(process.env) });
	const services = { [SERVICE]: [server, other].map(({ host, port }) => ({ id: `pg-${port}`, host, port })) };
	await using diplomat = createDiplomat({ source: await localSource({ services }), policy: 'least-in-flight' });
	const where = async (client: pg.Client): Promise<number> =>
		(await client.query('SELECT inet_server_port() AS port')).rows[0].port as number;
	const clients = [];
	for (let turn = 0; turn < 8; turn++) clients.push(await connect(diplomat));
	const ports = await Promise.all(clients.map(where));
	expect(ports.filter((port) => port === server.port)).toHaveLength(4);
	// All of one server's connections are closed: the next ones go there.
	await Promise.all(clients.filter((_client, index) => ports[index] === other.port).map((client) => client.end()));
	for (let turn = 0; turn < 2; turn++) clients.push(await connect(diplomat));
	expect(await Promise.all(clients.slice(-2).map(where))).toEqual([other.port, other.port]);
	await Promise.all(clients.map((client) => client.end()));
});

it('a query is cancelled where it runs, if there is one instance', async () => {
	await using diplomat = await diplomatTo({ host: server.host, port: server.port });
	const client = await connect(diplomat);
	const query = new pg.Query('SELECT pg_sleep(60)', []);
	const ended = new Promise((resolve) => query.on('error', resolve));
	client.query(query);
	const canceller = new pg.Client({ ...spockPg({ diplomat, service: SERVICE }), ...login }) as pg.Client & {
		cancel(client: pg.Client, query: unknown): void;
	};
	canceller.cancel(client, query);
	expect(await ended).toMatchObject({ code: '57014' });
	await client.end();
	expect(diplomat.status().ejected).toEqual([]);
});
