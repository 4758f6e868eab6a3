import { SpockError } from '@spock/client';
import { instanceError, outcomeOf } from '@spock/client/integrations';
import express from 'express';

const { CALL_TIMEOUT_MS = '2000' } = process.env;

/**
 * A waiter: takes orders over HTTP, and has the barista make them. `isReady` says whether it shall be sent work; whoever makes
 * the app owns the diplomat.
 */
export function waiter({ diplomat, isReady }) {
	const app = express();
	app.disable('x-powered-by');
	app.get('/readyz', (_request, response) => {
		const ready = isReady();
		response.status(ready ? 200 : 503).json({ ready, sidecar: diplomat.status().state });
	});
	// What an async handler rejects with goes to the error handler below: so it is in Express 5.
	app.get('/order/:drink', async ({ params: { drink } }, response) => {
		response.json({ drink, made: await ask(diplomat, 'barista', `/make/${encodeURIComponent(drink)}`) });
	});
	app.use((error, _request, response, next) => {
		if (!SpockError.is(error) || response.headersSent) return next(error);
		console.error(error.message);
		response.status(503).json({ error: error.code, message: error.message });
	});
	return app;
}

/** Asks an instance of a service over HTTP. */
async function ask(diplomat, service, path) {
	const lease = await diplomat.acquire(service);
	const { host, port } = lease.address;
	const origin = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
	try {
		const response = await fetch(origin + path, { signal: AbortSignal.timeout(Number(CALL_TIMEOUT_MS)) });
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
