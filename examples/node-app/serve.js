// An HTTP service that registers itself, says when it is busy, and leaves in the right order at Ctrl-C or SIGTERM.
//   node examples/node-app/serve.js [SERVICE]
import { once } from 'node:events';
import { createServer } from 'node:http';

import { connect } from '@spock/client';

const [service = 'espresso'] = process.argv.slice(2);
const BUSY_FROM = 10;
/** Longer than a client keeps a connection that it does not use: a server that lets go of one first may lose the next request. */
const KEEP_ALIVE_MS = 65_000;
let brewing = 0;
const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
	brewing++;
	response.on('close', () => brewing--);
	// At the end that would be waited for, wherever a client keeps its connection.
	response.once('finish', () => server.listening || server.closeIdleConnections());
	// When the whole order is there, whatever it says.
	request.resume().once('end', () => response.end('a cup of coffee\n'));
});
server.listen(Number(process.env['PORT'] ?? 0), '127.0.0.1');
await once(server, 'listening');

const diplomat = await connect();
// Registered as soon as it can serve, and not before. In a pod leave `host` out: the sidecar knows what to advertise.
const registration = await diplomat.register({ service, host: '127.0.0.1', port: server.address().port, tags: ['v1'] });
console.log(`${registration.service} is ${registration.state} as ${registration.id}`);

// `warning` still gets work, as much as its weight for that says; the note is for whoever looks at the registry.
let said = 'passing';
const reporting = setInterval(() => {
	const status = brewing < BUSY_FROM ? 'passing' : 'warning';
	if (status === said) return;
	said = status;
	registration.report(status, status === 'warning' ? `${brewing} cups at once` : '').catch((error) => {
		console.error(`could not report: ${error.message}`);
	});
}, 1000);

async function stop() {
	clearInterval(reporting);
	// First out of the registry, so that nobody new is sent here; then finish what is there; then leave the sidecar.
	await registration.drain().catch((error) => console.error(`could not deregister: ${error.message}`));
	console.log(`${registration.service} is ${registration.state}`);
	server.close();
	await once(server, 'close');
	console.log('every cup is served');
	await diplomat.drain();
}
process.once('SIGINT', stop);
process.once('SIGTERM', stop);
