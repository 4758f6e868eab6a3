// Takes an order five times a second at whichever PostgreSQL server the registry calls the primary, until Ctrl-C.
//   node examples/pg/orders.js [SERVICE]
// pg reads PGUSER, PGDATABASE and PGPASSWORD. Beside `npm start`, tell examples/services.json where your servers are, and swap
// the tags to move:
//   "orders-db": [{ "id": "a", "host": "127.0.0.1", "port": 5432, "tags": ["primary"] }]
import { connect } from '@spock/client';
import { followPool, spockPg } from '@spock/pg';
import pg from 'pg';

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
process.once('SIGTERM', () => stop.abort());

const service = process.argv[2] ?? 'orders-db';
const diplomat = await connect({ signal: stop.signal });
const pool = followPool(
	new pg.Pool({ ...spockPg({ diplomat, service, tags: ['primary'] }), connectionTimeoutMillis: 2000, max: 4 }),
);
// A connection that nobody uses was lost: the next query makes a new one.
pool.on('error', (error) => console.log(`idle connection lost: ${error.message}`));

await pool.query('CREATE TABLE IF NOT EXISTS orders (id serial, at timestamptz DEFAULT now())');
while (!stop.signal.aborted) {
	try {
		// Not repeated when it fails: it may have been taken all the same.
		const { rows } = await pool.query('INSERT INTO orders DEFAULT VALUES RETURNING id, inet_server_port() AS port');
		console.log(`order ${rows[0].id} taken at port ${rows[0].port}`);
	} catch (error) {
		console.log(`order not taken: ${error.message}`);
	}
	await new Promise((resolve) => setTimeout(resolve, 200));
}
await pool.end();
await diplomat.drain();
