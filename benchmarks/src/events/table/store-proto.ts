import { fileURLToPath } from 'node:url';

import { loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

/** A message on its way to the store; with one of the two. */
export interface StoreRequest {
	readonly version: number;
	readonly messageId: number;
	readonly plain?: Buffer;
	readonly packed?: Buffer;
}

/** What is on the disk. */
export interface StoreResponse {
	readonly version: number;
	readonly acked: readonly number[];
}

interface Package {
	readonly spock: { readonly bench: { readonly v1: { readonly Store: ServiceClientConstructor } } };
}

/** The client class, with its service definition, of proto/store.proto. */
export function loadStore(): ServiceClientConstructor {
	const file = fileURLToPath(new URL('../proto/store.proto', import.meta.url));
	return (loadPackageDefinition(loadSync(file)) as unknown as Package).spock.bench.v1.Store;
}
