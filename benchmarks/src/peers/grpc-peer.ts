import { credentials } from '@grpc/grpc-js';

import type { LoadTarget } from '../load/load.ts';
import { SERVICE } from '../servers/catalogue.ts';
import { loadDiscovery } from './discovery-proto.ts';

type Unary = (request: object, reply: (error: Error | null, value: unknown) => void) => void;

/** A unary call of grpc-js, made a promise of as its users do. */
export async function connectGrpc(address: string): Promise<LoadTarget> {
	const Discovery = loadDiscovery();
	const client = new Discovery(address, credentials.createInsecure());
	await new Promise<void>((resolve, reject) => {
		client.waitForReady(Date.now() + 10_000, (error) => (error === undefined ? resolve() : reject(error)));
	});
	const getService = (client['GetService'] as Unary).bind(client);
	return {
		call: () =>
			new Promise((resolve, reject) => {
				getService({ service: SERVICE }, (error, value) => (error === null ? resolve(value) : reject(error)));
			}),
		close: () => client.close(),
	};
}
