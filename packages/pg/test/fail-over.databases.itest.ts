import { createDiplomat } from '@spock/client';
import { localSource } from '@spock/discovery';
import { makeAuthority, SteadyCalls, startSidecar, TempServices, tempSocket, waitFor } from '@spock/testkit';
import { findPostgres, type RealPostgres, startPostgres } from '@spock/testkit/real-databases';
import pg from 'pg';
import oldestPg from 'pg-oldest';
import { describe, expect, it } from 'vitest';

import { followPool, type SpockPgOptions, spockPg } from '../src/index.ts';

const SERVICE = 'orders-db';
const TIMEOUT_MS = 120_000;
const binaries = findPostgres(process.env);

/** What the registry says of two servers, as long as they are up. */
async function say(services: TempServices, primary: RealPostgres, standby?: RealPostgres): Promise<void> {
	const instance = (server: RealPostgres, role: string) => ({
		id: `pg-${server.port}`,
		host: server.host,
		port: server.port,
		tags: [role],
	});
	await services.set(SERVICE, [
		instance(primary, 'primary'),
		...(standby === undefined ? [] : [instance(standby, 'replica')]),
	]);
}

const WHERE = 'SELECT inet_server_port() AS port';

async function where(pool: { query(text: string): Promise<pg.QueryResult> }): Promise<number> {
	return (await pool.query(WHERE)).rows[0].port as number;
}

const versions = [
	['pg 8.23', pg],
	['pg 8.11', oldestPg as typeof pg],
] as const;

describe.each(versions)('a fail-over of PostgreSQL, %s', { timeout: TIMEOUT_MS }, (version, { Pool }) => {
	/** A pool of the service's instances of a role, and what its idle connections ended with. */
	function poolOf(options: Omit<SpockPgOptions, 'service'>, more: pg.PoolConfig = {}) {
		const pool = new Pool({
			...spockPg({ service: SERVICE, ...options }),
			user: 'postgres',
			database: 'postgres',
			...more,
		});
		const errors: Error[] = [];
		pool.on('error', (error) => errors.push(error));
		return { pool, errors };
	}

	it('the primary crashes, the standby is promoted, the registry moves: queries go on at the new primary', async () => {
		await using services = await TempServices.make();
		await using primary = await startPostgres({ binaries });
		await using standby = await startPostgres({ binaries, standbyOf: primary });
		await say(services, primary, standby);
		await using diplomat = createDiplomat({ source: await localSource({ file: services.file, pollMs: 50 }) });
		const writers = poolOf({ diplomat, tags: ['primary'] });
		const readers = poolOf({ diplomat, tags: ['replica'] });
		followPool(writers.pool);
		await writers.pool.query('CREATE TABLE orders (port int)');
		expect([await where(writers.pool), await where(readers.pool)]).toEqual([primary.port, standby.port]);

		const insert = 'INSERT INTO orders VALUES (inet_server_port()) RETURNING port';
		await using load = new SteadyCalls(async () => (await writers.pool.query(insert)).rows[0].port, { callers: 4 });
		await waitFor('a working app', () => load.calls.length > 20);
		const killedMs = performance.now();
		await primary.kill();
		await standby.promote();
		await say(services, standby);
		const movedMs = performance.now();
		const first = await waitFor(
			'the new primary',
			() => load.calls.find(({ value }) => value === standby.port),
			60_000,
		);
		// What failed in the meantime is over; from now on nothing fails.
		const failed = load.failed.length;
		const done = load.calls.length;
		await waitFor('a working app', () => load.calls.length > done + 50);
		await load.stop();
		expect(load.calls.slice(done).every(({ value }) => value === standby.port)).toBe(true);
		expect(failed).toBeGreaterThan(0);
		const after = (ms: number): string => (first.endedMs - ms).toFixed(0);
		process.stdout.write(
			`${version} crash: ${failed} of ${load.calls.length} queries failed; first answer of the new primary ` +
				`${after(killedMs)} ms after the crash, ${after(movedMs)} ms after the registry moved\n`,
		);
		await Promise.all([writers.pool.end(), readers.pool.end()]);
	});

	it.each(['plain', 'TLS'])(
		'the registry moves while both serve, through a sidecar (%s): no query fails, and no idle connection is an error',
		async (kind) => {
			const authority = makeAuthority();
			const tls = kind === 'TLS' && { tls: authority.issue() };
			await using services = await TempServices.make();
			await using left = await startPostgres({ binaries, ...tls });
			await using right = await startPostgres({ binaries, ...tls });
			await say(services, left);
			await using place = await tempSocket();
			await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services.file]);
			await using diplomat = createDiplomat({ path: place.path });
			const ssl = kind === 'TLS' && { ca: authority.ca };
			const { pool, errors } = poolOf({ diplomat, tags: ['primary'] }, { ssl });
			followPool(pool);
			await using load = new SteadyCalls(() => where(pool), { callers: 4 });
			await waitFor('a working app', () => load.calls.length > 20);
			const movedMs = performance.now();
			await say(services, right);
			const first = await waitFor('the new primary', () => load.calls.find(({ value }) => value === right.port));
			await waitFor('only the new primary', () => load.calls.slice(-20).every(({ value }) => value === right.port));
			await load.stop();
			expect(load.failed).toEqual([]);
			expect(errors).toEqual([]);
			const last = load.calls.findLast(({ value }) => value === left.port);
			const after = (ms = movedMs): string => (ms - movedMs).toFixed(0);
			process.stdout.write(
				`${version} switch-over, ${kind}: 0 of ${load.calls.length} queries failed; first answer of the new primary ` +
					`${after(first.endedMs)} ms, last of the old one ${after(last?.endedMs)} ms after the registry moved\n`,
			);
			await pool.end();
		},
	);

	it('without followPool an idle connection ends with an error that says why, and a transaction is finished first', async () => {
		await using services = await TempServices.make();
		await using left = await startPostgres({ binaries });
		await using right = await startPostgres({ binaries });
		await say(services, left);
		await using diplomat = createDiplomat({ source: await localSource({ file: services.file, pollMs: 50 }) });
		const { pool, errors } = poolOf({ diplomat, tags: ['primary'] });
		const [working, idle] = await Promise.all([pool.connect(), pool.connect()]);
		idle.release();
		await working.query('BEGIN');
		const open = working.query('SELECT pg_sleep(0.5), inet_server_port() AS port');
		await say(services, right);
		await waitFor('the idle connection to end', () => errors.length > 0);
		expect(errors[0]).toMatchObject({
			code: 'DISCONNECTED',
			details: { service: SERVICE, instance: `pg-${left.port}` },
		});
		expect(await where(pool)).toBe(right.port);
		expect((await open).rows[0].port).toBe(left.port);
		const ended = new Promise((resolve) => working.once('error', resolve));
		expect((await working.query('COMMIT')).command).toBe('COMMIT');
		expect(await ended).toMatchObject({ code: 'DISCONNECTED' });
		working.release();
		await pool.end();
	});

	it.each([
		['idle between two queries', undefined],
		['in a transaction', 'BEGIN'],
	])(
		'a client of a followed pool that is checked out and %s is cut without an error: its next query rejects',
		async (_state, statement) => {
			await using services = await TempServices.make();
			await using left = await startPostgres({ binaries });
			await say(services, left);
			await using diplomat = createDiplomat({ source: await localSource({ file: services.file, pollMs: 50 }) });
			const { pool, errors } = poolOf({ diplomat, tags: ['primary'], leaveTimeoutMs: 0 });
			followPool(pool);
			const client = await pool.connect();
			const ended = new Promise((resolve) => client.once('end', resolve));
			await client.query(statement ?? WHERE);
			// pg raises this event, if no listener is there, as an uncaught exception: vitest then fails the run.
			await services.set(SERVICE, []);
			await ended;
			await expect(client.query(WHERE)).rejects.toThrow(/not queryable/);
			client.release();
			expect(errors).toEqual([]);
			await pool.end();
		},
	);

	it('what is not over within leaveTimeoutMs is cut, with an error that says why', async () => {
		await using services = await TempServices.make();
		await using left = await startPostgres({ binaries });
		await say(services, left);
		await using diplomat = createDiplomat({ source: await localSource({ file: services.file, pollMs: 50 }) });
		const { pool } = poolOf({ diplomat, tags: ['primary'], leaveTimeoutMs: 100 });
		followPool(pool);
		await where(pool);
		const long = pool.query('SELECT pg_sleep(60)');
		await services.set(SERVICE, []);
		await expect(long).rejects.toMatchObject({ code: 'DISCONNECTED', details: { service: SERVICE } });
		await expect(pool.query('SELECT 1')).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
		await pool.end();
	});
});
