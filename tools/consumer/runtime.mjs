// An app that is run by Node, Bun and Deno beside a real sidecar: what of the packages works there, as JSON.
//   SPOCK_SOCKET=PATH node|bun run|deno run -A runtime.mjs
import { once } from 'node:events';
import { createServer, get } from 'node:http';
import { text } from 'node:stream/consumers';

import { connect, SpockError } from '@spock/client';

const LIMIT_MS = 5000;
const HOST = '127.0.0.1';
const report = {};

/** `works`, or what it failed with. */
async function step(name, run) {
	const late = new Promise((_, reject) => {
		setTimeout(() => reject(new Error('it hangs')), LIMIT_MS).unref();
	});
	report[name] = await Promise.race([run(), late]).then(
		() => 'works',
		(error) => `fails: ${error?.cause?.message ?? error?.message ?? error}`,
	);
}

function expect(got, wanted) {
	if (JSON.stringify(got) !== JSON.stringify(wanted)) throw new Error(`got ${JSON.stringify(got)}`);
}

const server = createServer((_request, response) => response.end('espresso'));
server.listen(0, HOST);
await once(server, 'listening');
const { port } = server.address();

const diplomat = await connect();
let registration;
await step('register', async () => {
	registration = await diplomat.register({ service: 'barista', host: HOST, port });
	expect(registration.state, 'registered');
});
await step('lookup', async () => {
	const found = await diplomat.getService('barista');
	expect([found.host, found.port], [HOST, port]);
	const error = await diplomat.getService('nobody').catch((thrown) => thrown);
	expect(SpockError.is(error, 'NO_SUCH_SERVICE'), true);
});
await step('watch', async () => {
	const counts = [];
	for await (const { instances } of diplomat.watchService('till')) {
		counts.push(instances.length);
		if (counts.length === 1) await diplomat.register({ service: 'till', host: HOST, port });
		if (instances.length > 0) break;
	}
	expect(counts.at(-1), 1);
});
await step('createFetch', async () => {
	const { createFetch } = await import('@spock/undici');
	const fetch = createFetch({ diplomat });
	expect(await (await fetch('http://barista.spock/')).text(), 'espresso');
	// Of two instances one refuses: nothing was sent, so the other one gets the request.
	const gone = createServer().listen(0, HOST);
	await once(gone, 'listening');
	const { port: refusing } = gone.address();
	await new Promise((resolve) => gone.close(resolve));
	await diplomat.register({ service: 'orders', host: HOST, port: refusing });
	await diplomat.register({ service: 'orders', host: HOST, port });
	for (let turn = 0; turn < 4; turn++) {
		const response = await fetch('http://orders.spock/', { method: 'POST', body: 'two cups' });
		expect(await response.text(), 'espresso');
	}
	await fetch.close();
});
await step('createDispatcher with undici of npm', async () => {
	const { createDispatcher } = await import('@spock/undici');
	const { Agent, request } = await import('undici');
	const dispatcher = createDispatcher({ diplomat, Agent });
	const { body } = await request('http://barista.spock/', { dispatcher });
	expect(await body.text(), 'espresso');
	await dispatcher.close();
});
await step('createAgent', async () => {
	const { createAgent } = await import('@spock/http');
	const agent = createAgent({ diplomat });
	const request = get('http://barista.spock/', { agent: agent.httpAgent });
	const [response] = await once(request, 'response');
	expect(await text(response), 'espresso');
	agent.destroy();
});
for (const name of [
	'client/events',
	'client/integrations',
	'client/otel',
	'client/tls',
	'discovery',
	'events',
	'fastify',
	'grpc',
	'http',
	'ioredis',
	'nestjs',
	'pg',
	'undici',
]) {
	await step(`import of ${name}`, async () => {
		expect(Object.keys(await import(`@spock/${name}`)).length > 0, true);
	});
}
await step('an app of Fastify with its plugin', async () => {
	const { default: fastify } = await import('fastify');
	const { spock } = await import('@spock/fastify');
	const app = fastify();
	app.register(spock, { register: { service: 'waiter', host: HOST }, readyPath: '/readyz' });
	const url = await app.listen({ host: HOST, port: 0 });
	let response;
	do response = await fetch(`${url}/readyz`);
	while ((await response.json()).ready !== true);
	await app.close();
	const { instances } = await diplomat.getInstances('waiter', { fresh: true });
	expect(instances, []);
});
await step('direct mode', async () => {
	const { createDiplomat } = await import('@spock/client');
	const { localSource } = await import('@spock/discovery');
	const source = await localSource({ services: { barista: [{ host: HOST, port }] } });
	const direct = createDiplomat({ source });
	expect((await direct.getService('barista')).port, port);
	await direct.close();
});
await step('drain', async () => {
	await diplomat.drain();
	expect(registration.state, 'deregistered');
});
process.stdout.write(`${JSON.stringify(report)}\n`);
process.exit(0);
