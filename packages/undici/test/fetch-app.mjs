// Requests by the fetch that is built into the Node that runs this, with what is built of the packages.
//   node fetch-app.mjs [FIRST] [AGENT]     FIRST: loaded before Node's own undici; AGENT: whose Agent is given; `-` for none
import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer } from 'node:http';

import { createDiplomat } from '@spock/client';
import { localSource } from '@spock/discovery';
import { createDispatcher } from '@spock/undici';

const [first = '-', agent = '-'] = process.argv.slice(2);
if (first !== '-') await import(first);

async function listen(listener) {
	const server = createServer(listener).listen(0, '127.0.0.1');
	await once(server, 'listening');
	return server;
}

const servers = [];
for (const name of ['web-1', 'web-2']) {
	servers.push(await listen((request, response) => request.url === '/hang' || response.end(name)));
}
const gone = await listen(() => undefined);
const place = (server, id) => ({ id, host: '127.0.0.1', port: server.address().port });
const services = {
	barista: servers.map((server, index) => place(server, `web-${index + 1}`)),
	gone: [place(gone, 'web-9')],
};
await new Promise((resolve) => gone.close(resolve));

const source = await localSource({ services });
const diplomat = createDiplomat({ source, ejectAfterFailures: 1 });
let leases = 0;
const acquire = diplomat.tryAcquire.bind(diplomat);
diplomat.tryAcquire = (...given) => {
	const lease = acquire(...given);
	if (lease === undefined) return lease;
	leases++;
	const { query, address } = lease;
	const release = (...ended) => {
		leases--;
		lease.release(...ended);
	};
	return { query, address, release };
};

const Agent = agent === '-' ? undefined : (await import(agent)).Agent;
const global = globalThis[Symbol.for('undici.globalDispatcher.1')];
const dispatcher = createDispatcher({ diplomat, Agent });
const failure = (error) => {
	const { code, service, instance, message } = error.cause ?? error;
	return { code, service, instance, message };
};
const get = async (path, options) => (await fetch(`http://${path}`, { ...options, dispatcher })).text();

const report = {};
try {
	await get('barista.spock/');
	report.texts = [];
	for (let turn = 0; turn < 4; turn++) report.texts.push(await get('barista.spock/'));
	report.texts.sort();
	report.posted = await get('barista.spock/', { method: 'POST', body: 'a cup' });
	report.elsewhere = await get(`127.0.0.1:${services.barista[0].port}/`);
	report.refused = await get('gone.spock/').catch(failure);
	report.unknown = await get('nobody.spock/').catch(failure);
	const signal = AbortSignal.timeout(50);
	report.hung = await get('barista.spock/hang', { signal }).catch((error) => error.name);
	while (leases > 0) await new Promise((resolve) => setTimeout(resolve, 5));
	report.ejected = diplomat
		.status()
		.ejected.map(({ instance }) => instance.replace(/\d$/, 'N'))
		.sort();
} catch (error) {
	report.failed = failure(error);
}
await dispatcher.destroy();
await diplomat.close();
report.leases = leases;
report.isListening = channel('undici:request:create').hasSubscribers;
report.isGlobalUnchanged = global === undefined || global === globalThis[Symbol.for('undici.globalDispatcher.1')];
for (const server of servers) {
	server.closeAllConnections();
	server.close();
}
process.stdout.write(JSON.stringify(report));
