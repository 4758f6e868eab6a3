// Calls a service by its name, with fetch and with undici's request. Three little servers are its instances, and one of them
// is stopped in the middle.
//   node examples/undici/call.js
import { once } from 'node:events';
import { createServer } from 'node:http';

import { createDiplomat } from '@spock/client';
import { localSource } from '@spock/discovery';
import { createDispatcher } from '@spock/undici';
import { Agent, interceptors, request } from 'undici';

const servers = [];
for (const name of ['barista-1', 'barista-2', 'barista-3']) {
	const server = createServer((_request, response) => response.end(name)).listen(0, '127.0.0.1');
	await once(server, 'listening');
	servers.push({ name, server, port: server.address().port });
}
const barista = servers.map(({ name, port }) => ({ id: name, host: '127.0.0.1', port }));

// With a sidecar it is: const diplomat = await connect();
const diplomat = createDiplomat({ source: await localSource({ services: { barista } }) });

// For the fetch of Node.
const dispatcher = createDispatcher({ diplomat });
// For undici of npm: its own Agent, and its own retry, which asks another instance each time.
const agent = createDispatcher({ diplomat, Agent });
const retrying = agent.compose(interceptors.retry({ minTimeout: 1 }));

async function tally(title, call) {
	const counts = new Map();
	for (let turn = 0; turn < 6; turn++) {
		const name = await call();
		counts.set(name, (counts.get(name) ?? 0) + 1);
	}
	const parts = [...counts].sort().map(([name, count]) => `${name} ${count}`);
	console.log(`${title}: ${parts.join(', ')}`);
}

async function byFetch() {
	const response = await fetch('http://barista.spock/menu', { dispatcher });
	return response.text();
}

async function byRequest() {
	const { body } = await request('http://barista.spock/menu', { dispatcher: retrying });
	return body.text();
}

try {
	await tally('fetch', byFetch);
	await tally('request', byRequest);
	const [{ server }] = servers;
	server.closeAllConnections();
	server.close();
	await tally('request, one instance stopped', async () => (await byRequest()).replace(/[23]$/, 'N'));
	// It refuses, so nothing was sent: another one gets the request.
	await tally('fetch, one instance stopped', async () => (await byFetch()).replace(/[23]$/, 'N'));
	await fetch('http://nobody.spock/', { dispatcher }).catch(({ cause }) =>
		console.log(`${cause.code}: ${cause.message}`),
	);
} finally {
	await dispatcher.close();
	await agent.close();
	await diplomat.drain();
	for (const { server } of servers) server.close();
}
