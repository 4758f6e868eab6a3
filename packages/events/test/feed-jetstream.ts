import { writeSync } from 'node:fs';
import { JetStreamStore } from '../src/stores/jetstream/jetstream-store.ts';
import { LogEvents } from './log-events.ts';

/**
 * A process that feeds the stream `orders` without end, from where the store is, and writes to its output what was told to be stored. Its
 * argument is the server.
 */
const [, , server = ''] = process.argv;
const BATCH = 300;
const KEYS = 7;

const store = new JetStreamStore({ servers: async () => [server], owner: 'log' });
const events = new LogEvents();
let position = await store.lastOf('orders');
events.startAt('orders', position);
for (;;) {
	const batch = Array.from({ length: BATCH }, () => {
		position++;
		return events.make('orders', position, `k${position % KEYS}`);
	});
	await store.append('orders', batch, (stored) => void writeSync(1, `${stored}\n`));
}
