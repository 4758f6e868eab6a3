// Takes orders in PostgreSQL as fast as it can. The event of an order is written in its transaction, to the table `outbox`, so there is
// one exactly if the order was taken; the relay brings it to the stream `orders`, once, whenever this program is killed.
//   npm start                         # a sidecar with events
//   node examples/outbox/orders.js    # pg reads PGHOST, PGUSER, PGDATABASE and PGPASSWORD; Ctrl-C stops it
import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';
import pg from 'pg';

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
process.once('SIGTERM', () => stop.abort());

const pool = new pg.Pool();
await pool.query(`
	CREATE TABLE IF NOT EXISTS orders (id bigserial PRIMARY KEY, total int NOT NULL);
	CREATE TABLE IF NOT EXISTS outbox (
		tx xid8 NOT NULL DEFAULT pg_current_xact_id(),
		id bigserial,
		stream text NOT NULL,
		payload jsonb NOT NULL,
		PRIMARY KEY (tx, id)
	)`);

async function takeOrder() {
	const client = await pool.connect();
	try {
		await client.query('BEGIN');
		const { rows } = await client.query('INSERT INTO orders (total) VALUES (5) RETURNING id, total');
		await client.query('INSERT INTO outbox (stream, payload) VALUES ($1, $2)', ['orders', rows[0]]);
		await client.query('COMMIT');
	} finally {
		client.release();
	}
}

/**
 * The rows behind one, in an order to which no later commit can add anything: a transaction that began early may commit late, so only
 * rows of transactions older than every one that still runs are read.
 */
async function read(after, max) {
	const { rows } = await pool.query(
		`SELECT format('%s-%s', tx, id) AS id, stream, payload FROM outbox
		WHERE (tx, id) > ($1::xid8, $2::bigint) AND tx < pg_snapshot_xmin(pg_current_snapshot())
		ORDER BY tx, outbox.id LIMIT $3`,
		[...(after ?? '0-0').split('-'), max],
	);
	return rows;
}

const relayed = (id) => pool.query('DELETE FROM outbox WHERE (tx, id) <= ($1::xid8, $2::bigint)', id.split('-'));

const diplomat = await connect();
const events = openEvents({ diplomat });
const relaying = events.relay({ producer: 'orders-outbox', read, relayed, pollMs: 20, signal: stop.signal });
const takers = Array.from({ length: 4 }, async () => {
	while (!stop.signal.aborted) await takeOrder();
});
await Promise.all([relaying, ...takers]);
await diplomat.drain();
await pool.end();
