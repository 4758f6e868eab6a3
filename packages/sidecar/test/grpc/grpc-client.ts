import { fileURLToPath } from 'node:url';

import {
	type ClientReadableStream,
	credentials,
	loadPackageDefinition,
	Metadata,
	type ServiceClientConstructor,
	type ServiceError,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

// From the files of the contract, as a stranger reads them; the sidecar itself has them built in.
const includeDirs = [fileURLToPath(new URL('../../proto', import.meta.url))];
const options = { includeDirs, keepCase: true, longs: Number, enums: String, defaults: true, oneofs: true };
const discovery = loadPackageDefinition(loadSync('spock/v1/discovery.proto', options)) as unknown as {
	readonly spock: { readonly v1: { readonly Discovery: ServiceClientConstructor } };
};
const health = loadPackageDefinition(loadSync('grpc/health/v1/health.proto', options)) as unknown as {
	readonly grpc: { readonly health: { readonly v1: { readonly Health: ServiceClientConstructor } } };
};

/** What a stream has told, and how it ended. */
export interface Told {
	readonly messages: Record<string, unknown>[];
	readonly stream: ClientReadableStream<unknown>;
	error: ServiceError | undefined;
}

export interface CallSettings {
	readonly timeoutMs?: number;
	readonly token?: string;
}

/** A client of one service, with a channel of its own. */
export class GrpcClient implements Disposable {
	readonly #client: InstanceType<ServiceClientConstructor>;

	constructor(address: string, service: 'discovery' | 'health' = 'discovery') {
		const Client = service === 'health' ? health.grpc.health.v1.Health : discovery.spock.v1.Discovery;
		this.#client = new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
	}

	/** The answer. Rejects with a ServiceError. */
	ask(method: string, request: object, settings: CallSettings = {}): Promise<Record<string, unknown>> {
		return new Promise((resolve, reject) => {
			this.begin(method, request, settings, (error, value) => (error === null ? resolve(value) : reject(error)));
		});
	}

	begin(
		method: string,
		request: object,
		settings: CallSettings,
		done: (error: ServiceError | null, value: Record<string, unknown>) => void,
	): { cancel(): void } {
		const call = this.#client[method] as (...given: unknown[]) => { cancel(): void };
		return call.call(this.#client, request, metadataOf(settings), deadlineOf(settings), done);
	}

	/** Begins a stream. */
	watch(request: object, settings: CallSettings = {}): Told {
		const call = this.#client['Watch'] as (...given: unknown[]) => ClientReadableStream<unknown>;
		const stream = call.call(this.#client, request, metadataOf(settings), deadlineOf(settings));
		const told: Told = { messages: [], stream, error: undefined };
		stream.on('data', (message: Record<string, unknown>) => told.messages.push(message));
		stream.on('error', (error: ServiceError) => {
			told.error = error;
		});
		return told;
	}

	[Symbol.dispose](): void {
		this.#client.close();
	}
}

function metadataOf({ token }: CallSettings): Metadata {
	const metadata = new Metadata();
	if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
	return metadata;
}

function deadlineOf({ timeoutMs = 20_000 }: CallSettings): { readonly deadline: number } {
	return { deadline: Date.now() + timeoutMs };
}
