import { fileURLToPath } from 'node:url';

import { loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

interface Package {
	readonly spock: { readonly bench: { readonly v1: { readonly Discovery: ServiceClientConstructor } } };
}

/** The client class, with its service definition, of proto/discovery.proto. */
export function loadDiscovery(): ServiceClientConstructor {
	const file = fileURLToPath(new URL('../proto/discovery.proto', import.meta.url));
	const loaded = loadPackageDefinition(loadSync(file)) as unknown as Package;
	return loaded.spock.bench.v1.Discovery;
}
