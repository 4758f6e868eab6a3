// An Express app that starts when its sidecar is there, registers itself, and at Ctrl-C or SIGTERM leaves in the right order.
//   node examples/express/main.js [SERVICE]
import { once } from 'node:events';
import { createServer } from 'node:http';

import { connect } from '@spock/client';

import { waiter } from './app.js';

const { PORT = '0', READY_TIMEOUT_MS = '10000', STOP_TIMEOUT_MS = '10000' } = process.env;
const [service = 'waiter'] = process.argv.slice(2);

// Asked for before anything else, so that a signal that comes while it starts is not lost.
const stopping = new AbortController();
const stop = stopping.signal;
process.once('SIGINT', () => stopping.abort());
process.once('SIGTERM', () => stopping.abort());

/** Each part is ended by whoever has begun it, in the reverse order; so it is when one cannot begin, too. */
async function run() {
	const diplomat = await connect({ readyTimeoutMs: Number(READY_TIMEOUT_MS), signal: stop });
	try {
		await serve(diplomat);
	} finally {
		// 3. Nobody needs another service any more.
		await diplomat.drain();
		console.log('the diplomat has ended');
	}
}

async function serve(diplomat) {
	const server = createServer(waiter({ diplomat, isReady: () => !stop.aborted }));
	// A client that keeps its connection would hold the end up until it lets go of it.
	server.on('request', (_request, response) => {
		response.once('finish', () => server.listening || server.closeIdleConnections());
	});
	server.listen(Number(PORT), '127.0.0.1');
	await once(server, 'listening');
	try {
		await beFound(diplomat, server.address().port);
	} finally {
		// 2. No new connections; requests that are there are finished, with all that they still ask for, but not for ever.
		const cut = setTimeout(() => server.closeAllConnections(), Number(STOP_TIMEOUT_MS));
		server.close();
		await once(server, 'close');
		clearTimeout(cut);
		console.log('every request has ended');
	}
}

async function beFound(diplomat, port) {
	// As soon as it can serve, and not before. In a pod leave `host` out: the sidecar knows what to advertise.
	const registration = await diplomat.register({ service, host: '127.0.0.1', port }, { signal: stop });
	console.log(`${service} listens at http://127.0.0.1:${port}`);
	if (!stop.aborted) await once(stop, 'abort');
	// 1. Out of the registry, so that nobody new is sent here. Meanwhile /readyz says 503, and everything else is served.
	await registration.drain().catch((error) => console.error(`could not deregister: ${error.message}`));
	console.log(`${service} is ${registration.state}`);
}

await run().catch((error) => {
	// A signal while it starts is no failure.
	if (stop.aborted) return;
	console.error(`${service} cannot start: ${error.message}`);
	process.exitCode = 1;
});
