// Hands orders over as fast as it can, until it is killed: main.js does that. Node forks it with a channel, by which it tells what
// it knows to be on the sidecar's disk.
import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';

const [run] = process.argv.slice(2);
const diplomat = await connect();
const events = openEvents({ diplomat });

for (let number = 1; ; number++) {
	const order = { run, number };
	// Of ten orders, nine are handed over and one is waited for: when it is on disk, all before it are.
	if (number % 10 !== 0) events.emit('orders', order, { key: run });
	else {
		await events.publish('orders', order, { key: run });
		process.send(number);
	}
}
