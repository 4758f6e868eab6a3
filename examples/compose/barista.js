#!/usr/bin/env node
// Serves a menu over HTTP, and registers itself with the sidecar beside it, which knows the address to advertise.
//   HOST=0.0.0.0 PORT=8080 node examples/compose/barista.js
import { once } from 'node:events';
import { createServer } from 'node:http';

import { connect } from '@spock/client';

const { HOST = '127.0.0.1', PORT = '8080' } = process.env;
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stopping.abort());

const server = createServer((_request, response) => {
	response.writeHead(200, { 'content-type': 'application/json' });
	response.end('{"drinks":["espresso","cortado","flat white"]}\n');
});
server.listen(Number(PORT), HOST);
await once(server, 'listening');

const diplomat = await connect({ readyTimeoutMs: 60_000 });
const registration = await diplomat.register({ service: 'barista', port: server.address().port });
console.log(`${registration.service} is ${registration.state} as ${registration.id}`);
if (!stopping.signal.aborted) await once(stopping.signal, 'abort');

// First out of the registry, then no new requests, then away from the sidecar.
await registration.drain();
server.close();
server.closeIdleConnections();
await diplomat.drain();
