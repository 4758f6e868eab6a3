// Bills every order, and dies once in the middle of its work: main.js starts it again. What was not acked comes again.
import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';

const diesAfter = Number(process.argv[2] ?? 0);
const diplomat = await connect();
const events = openEvents({ diplomat });

let billed = 0;
await events.handle('orders', { group: 'billing', from: 'first', order: 'key', concurrency: 16 }, async (event) => {
	await bill(event.data);
	if (++billed === diesAfter) process.kill(process.pid, 'SIGKILL');
});

/** Work that takes its time. What is done twice for one order shows in main.js: at least once is the promise. */
async function bill(order) {
	await new Promise((resolve) => setTimeout(resolve, 1));
	process.send(order);
}
