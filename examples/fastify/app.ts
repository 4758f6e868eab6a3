import { type Diplomat, SpockError } from '@spock/client';
import { type SpockPluginOptions, spock } from '@spock/fastify';
import { createFetch } from '@spock/undici';
import fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';

import { services } from './services.ts';

const CALL_TIMEOUT_MS = 2000;

/** A waiter: takes orders over HTTP, and has the barista make them. */
export function waiter(options: SpockPluginOptions, server: FastifyServerOptions = {}): FastifyInstance {
	const app = fastify(server);
	app.register(spock, { readyPath: '/readyz', ...options });
	app.register(orders);
	app.setErrorHandler((error, request, reply) => {
		const known = spockErrorOf(error);
		if (known === undefined) return reply.send(error);
		request.log.warn(known);
		return reply.code(503).send({ error: known.code, message: known.message });
	});
	return app;
}

/** The routes, registered after the plugin: `app.diplomat` is there. */
async function orders(app: FastifyInstance): Promise<void> {
	const make = barista(app.diplomat);
	app.addHook('onClose', () => make.close());
	app.get<{ Params: { drink: string } }>('/order/:drink', async ({ params: { drink } }, reply) => {
		const { status, text } = await make(drink);
		if (status !== 200) return reply.code(502).send({ error: `the barista answers ${status}` });
		return { drink, made: text };
	});
}

function barista(diplomat: Diplomat) {
	// Goes to a healthy instance, and to another one where that refuses.
	const fetch = createFetch({ diplomat });
	const make = async (drink: string) => {
		// The name of a service that is not in services.ts does not compile.
		const url = `http://${services.barista}.spock/make/${encodeURIComponent(drink)}`;
		const response = await fetch(url, { signal: AbortSignal.timeout(CALL_TIMEOUT_MS) });
		return { status: response.status, text: await response.text() };
	};
	return Object.assign(make, { close: () => fetch.close() });
}

/** What a call by name fails with names the service and the instance: the error itself, or a cause of it. */
function spockErrorOf(error: unknown): SpockError | undefined {
	if (SpockError.is(error)) return error;
	return error instanceof Error && error.cause !== undefined ? spockErrorOf(error.cause) : undefined;
}
