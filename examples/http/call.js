// Calls a service by its name with axios, and with a lookup function where the port is known. Three little servers are its
// instances, and one of them is stopped in the middle.
//   node examples/http/call.js
import { once } from 'node:events';
import { createServer, get } from 'node:http';
import { text } from 'node:stream/consumers';

import { createDiplomat } from '@spock/client';
import { retry } from '@spock/client/integrations';
import { localSource } from '@spock/discovery';
import { createAgent, discoveryLookup } from '@spock/http';
import axios from 'axios';

const servers = [];
for (const name of ['barista-1', 'barista-2', 'barista-3']) {
	const server = createServer((_request, response) => response.end(name)).listen(0, '127.0.0.1');
	await once(server, 'listening');
	servers.push({ name, server, port: server.address().port });
}
const barista = servers.map(({ name, port }) => ({ id: name, host: '127.0.0.1', port }));

// With a sidecar it is: const diplomat = await connect();
const diplomat = createDiplomat({ source: await localSource({ services: { barista } }) });

const agent = createAgent({ diplomat });
const { httpAgent, httpsAgent } = agent;
const api = axios.create({ httpAgent, httpsAgent, baseURL: 'http://barista.spock' });

async function tally(title, call) {
	const counts = new Map();
	for (let turn = 0; turn < 6; turn++) {
		const name = await call();
		counts.set(name, (counts.get(name) ?? 0) + 1);
	}
	const parts = [...counts].sort().map(([name, count]) => `${name} ${count}`);
	console.log(`${title}: ${parts.join(', ')}`);
}

async function menu() {
	const { data } = await api.get('/menu');
	return data;
}

async function order() {
	const { data } = await api.post('/orders', { cups: 2 });
	return data;
}

try {
	await tally('each request another one', menu);

	// Orders are not repeated, and none is lost: an instance that cannot be connected to has seen nothing of them.
	const [{ server }] = servers;
	server.close();
	server.closeAllConnections();
	await tally('one instance stopped', async () => (await order()).replace(/[23]$/, 'N'));
	// What breaks off later is repeated where that does no harm, and elsewhere.
	await tally('with retry', async () => (await retry(menu)).replace(/[23]$/, 'N'));

	await api.get('http://nobody.spock/').catch(({ code, message }) => console.log(`${code}: ${message}`));

	// A lookup gives an address and no port: this is for what has one port everywhere, and takes nothing else.
	const lookup = discoveryLookup({ diplomat });
	const [response] = await once(get({ host: 'barista.spock', port: servers[1].port, lookup }), 'response');
	console.log(`by lookup: ${await text(response)}`);
} finally {
	agent.destroy();
	await diplomat.drain();
	for (const { server } of servers) server.close();
}
