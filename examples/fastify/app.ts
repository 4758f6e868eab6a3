import { type Diplomat, SpockError } from '@spock/client';
import { instanceError, outcomeOf } from '@spock/client/integrations';
import fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';

import { type ServiceName, services } from './services.ts';
import { type SpockOptions, spock } from './spock.ts';

const CALL_TIMEOUT_MS = 2000;

/** A waiter: takes orders over HTTP, and has the barista make them. */
export function waiter(options: SpockOptions, server: FastifyServerOptions = {}): FastifyInstance {
	const app = fastify(server);
	app.register(spock, options);
	app.get<{ Params: { drink: string } }>('/order/:drink', async ({ params: { drink } }) => {
		return { drink, made: await ask(app.diplomat, services.barista, `/make/${encodeURIComponent(drink)}`) };
	});
	// The sidecar may be away for a while: answers go on, from what was told last. So this is about the app and not about it.
	app.get('/readyz', async () => ({ ready: true, sidecar: app.diplomat.status().state }));
	// A client that keeps its connection would hold the end up until it lets go of it.
	app.addHook('onSend', async (_request, reply) => {
		if (!app.server.listening) reply.header('connection', 'close');
	});
	app.setErrorHandler((error, request, reply) => {
		if (!SpockError.is(error)) return reply.send(error);
		request.log.warn(error);
		return reply.code(503).send({ error: error.code, message: error.message });
	});
	return app;
}

/** Asks an instance of a service over HTTP. The name of one that is not in services.ts does not compile. */
async function ask(diplomat: Diplomat, service: ServiceName, path: string): Promise<string> {
	const lease = await diplomat.acquire(service);
	const { host, port } = lease.address;
	const origin = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
	try {
		const response = await fetch(origin + path, { signal: AbortSignal.timeout(CALL_TIMEOUT_MS) });
		const text = await response.text();
		// To be told that one is wrong is an answer like any other.
		lease.release(response.status < 500 ? 'success' : 'failure');
		if (response.ok) return text;
		throw new Error(`it answers ${response.status}`);
	} catch (error) {
		// Only the first release counts.
		lease.release(outcomeOf(error));
		throw instanceError(lease.query, lease.address, error);
	}
}
