#!/usr/bin/env node
// Serves over HTTP what it fetches from a barista by that name: the sidecar beside it knows where one is.
//   HOST=0.0.0.0 PORT=8081 node examples/compose/waiter.js
import { once } from 'node:events';
import { createServer } from 'node:http';

import { connect, SpockError } from '@spock/client';
import { createFetch } from '@spock/undici';

const { HOST = '127.0.0.1', PORT = '8081' } = process.env;
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stopping.abort());

const diplomat = await connect({ readyTimeoutMs: 60_000 });
const fetch = createFetch({ diplomat });

async function menu(response) {
	const answer = await fetch('http://barista.spock/menu');
	response.writeHead(answer.status, { 'content-type': 'application/json' });
	response.end(await answer.text());
}

const server = createServer((_request, response) => {
	menu(response).catch((error) => {
		// fetch wraps what it fails with.
		const reason = SpockError.is(error.cause) ? error.cause : error;
		response.writeHead(503, { 'content-type': 'application/json' });
		response.end(`${JSON.stringify({ error: reason.code, message: reason.message })}\n`);
	});
});
server.listen(Number(PORT), HOST);
await once(server, 'listening');
console.log(`the waiter serves http://127.0.0.1:${server.address().port}/`);
if (!stopping.signal.aborted) await once(stopping.signal, 'abort');

server.close();
server.closeIdleConnections();
await fetch.close();
await diplomat.drain();
