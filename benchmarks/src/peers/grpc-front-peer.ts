import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { credentials, loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

import type { LoadTarget } from '../load/load.ts';
import { SERVICE } from '../servers/catalogue.ts';

interface Package {
	readonly spock: { readonly v1: { readonly Discovery: ServiceClientConstructor } };
}
interface GetResponse {
	readonly instance: { readonly host: string; readonly port: number };
}
type Get = (request: object, reply: (error: Error | null, value: GetResponse) => void) => void;

/** The sidecar's gRPC front, asked by grpc-js as its users do. */
export async function connectGrpcFront(address: string): Promise<LoadTarget> {
	const manifest = createRequire(import.meta.url).resolve('@spock/sidecar/package.json');
	const file = join(dirname(manifest), 'proto/spock/v1/discovery.proto');
	const { Discovery } = (loadPackageDefinition(loadSync(file)) as unknown as Package).spock.v1;
	const client = new Discovery(address, credentials.createInsecure());
	await new Promise<void>((resolve, reject) => {
		client.waitForReady(Date.now() + 10_000, (error) => (error === undefined ? resolve() : reject(error)));
	});
	const get = (client['Get'] as Get).bind(client);
	return {
		call: () =>
			new Promise((resolve, reject) => {
				get({ service: SERVICE }, (error, value) => (error === null ? resolve(value.instance) : reject(error)));
			}),
		close: () => client.close(),
	};
}
