import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';
import { spawnProcess, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { findPostgres, startPostgres } from '@spock/testkit/real-databases';
import pg from 'pg';
import { expect, it } from 'vitest';

const app = fileURLToPath(new URL('./orders.js', import.meta.url));
const KILLS = 8;

it('the app is killed again and again: each order that was committed has its event, once', {
	timeout: 180_000,
}, async () => {
	await using database = await startPostgres({ binaries: findPostgres(process.env) });
	await using place = await tempSocket();
	const events = ['--events', join(place.directory, 'events')];
	await using _sidecar = await startSidecar(place.path, ['--backend', 'local', ...events]);
	const { host, port } = database;
	const pool = new pg.Pool({ host, port, user: 'postgres', database: 'postgres' });
	const count = async (table: string): Promise<number> => {
		const { rows } = await pool.query(`SELECT count(*)::int AS count FROM ${table}`);
		return rows[0].count;
	};
	const env = {
		SPOCK_SOCKET: place.path,
		PGHOST: host,
		PGPORT: String(port),
		PGUSER: 'postgres',
		PGDATABASE: 'postgres',
	};
	let orders = 0;
	let left = 0;
	for (let kill = 1; kill <= KILLS; kill++) {
		await using run = spawnProcess(process.execPath, [app], { env });
		await waitFor('orders', async () => {
			if (run.child.exitCode !== null) throw new Error(`it ended: ${run.stdout()}${run.stderr()}`);
			return (await count('orders').catch(() => 0)) > orders + 50 * kill;
		});
		await run.stop('SIGKILL');
		orders = await count('orders');
		left += await count('outbox');
	}
	// Killed between commit and publish, not only between orders.
	expect(left).toBeGreaterThan(0);
	await using last = spawnProcess(process.execPath, [app], { env });
	await waitFor('more orders', async () => (await count('orders')) > orders);
	const { exitCode, stderr } = await last.stop('SIGINT');
	expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
	const { rows } = await pool.query('SELECT id FROM orders');
	const { rows: waiting } = await pool.query(`SELECT payload->>'id' AS id FROM outbox`);
	await pool.end();
	const committed = rows.map(({ id }) => Number(id));

	await using diplomat = await connect({ path: place.path });
	const reader = openEvents<{ orders: { id: string | number; last?: boolean } }>({ diplomat });
	await reader.publish('orders', { id: 0 });
	const seen: number[] = [];
	for await (const event of reader.consume('orders', { from: 'first' })) {
		event.ack();
		if (event.data.id === 0) break;
		seen.push(Number(event.data.id));
	}
	expect(new Set(seen).size).toBe(seen.length);
	expect(seen.filter((id) => !committed.includes(id))).toEqual([]);
	const unsent = new Set(waiting.map(({ id }) => Number(id)));
	const missing = committed.filter((id) => !seen.includes(id) && !unsent.has(id));
	expect(missing).toEqual([]);
});
