import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { InstanceSettings } from './rolling-messages.ts';

/** One of the two servers of an instance. */
export interface InstanceServer {
	readonly port: number;
	/** Takes no more connections, and ends when the last request that is under way has been answered. */
	stop(): Promise<void>;
}

/** Answers every request with the name of the instance, after its work. */
export async function serveHttpInstance({ name, ports, workMs }: InstanceSettings): Promise<InstanceServer> {
	let isStopping = false;
	const server = createServer((_request, response) => {
		const answer = (): void => {
			// A connection that is kept would hold up the end.
			if (isStopping) response.setHeader('connection', 'close');
			response.end(name);
		};
		if (workMs === 0) answer();
		else setTimeout(answer, workMs);
	});
	// Longer than any client keeps a connection that is idle: else one may be closed as it is used, restart or no restart.
	server.keepAliveTimeout = 65_000;
	server.listen(ports.http, '127.0.0.1');
	await once(server, 'listening');
	return {
		port: (server.address() as AddressInfo).port,
		stop: () => {
			isStopping = true;
			// Since Node 19 this closes idle connections too.
			return new Promise((resolve, reject) => {
				server.close((error) => (error === undefined ? resolve() : reject(error)));
			});
		},
	};
}
