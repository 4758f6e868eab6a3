// The acceptance test of the backend beside it: node --test examples/backend-http/contract.test.js
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';

import { backendContract } from '@spock/discovery/contract';

import { httpBackend } from './backend.js';

async function makeFixture() {
	const services = {};
	const server = createServer((_request, response) => response.end(JSON.stringify(services)));
	const listen = async (port) => once(server.listen(port, '127.0.0.1'), 'listening');
	const stop = () => {
		server.close();
		server.closeAllConnections();
	};
	await listen(0);
	const { port } = server.address();
	const backend = httpBackend(`http://127.0.0.1:${port}/`, { clock: performance, everyMs: 20 });
	return {
		backend,
		setService: (service, instances) => {
			services[service] = instances;
			if (instances.length === 0) delete services[service];
		},
		setReachable: (isReachable) => (isReachable ? listen(port) : stop()),
		close: async () => {
			await backend.close();
			stop();
		},
	};
}

for (const { name, run } of backendContract(makeFixture)) test(name, run);
