import { Server, ServerCredentials, type ServerDuplexStream, type ServerUnaryCall } from '@grpc/grpc-js';

import { GroupCommit } from '../model/group-commit.ts';
import { unpack } from './packing.ts';
import { loadStore, type StoreRequest, type StoreResponse } from './store-proto.ts';

/** Puts messages on a disk. */
export type Persist = (messages: readonly StoreRequest[]) => Promise<void>;

type Reply = (error: Error | null, response: StoreResponse) => void;

/**
 * The original's store in gRPC: a call is one message and one sync; a stream is acknowledged by groups, one sync for each.
 */
export async function serveGrpcStore(persist: Persist, port: number): Promise<void> {
	const server = new Server();
	server.addService(loadStore().service, {
		Put: ({ request }: ServerUnaryCall<StoreRequest, StoreResponse>, reply: Reply) => {
			persist([opened(request)]).then(
				() => reply(null, { version: 1, acked: [request.messageId] }),
				(error: Error) => reply(error, { version: 1, acked: [] }),
			);
		},
		Send: (stream: ServerDuplexStream<StoreRequest, StoreResponse>) => {
			const commit = new GroupCommit<StoreRequest>(persist, (group) =>
				stream.write({ version: 1, acked: group.map(({ messageId }) => messageId) }),
			);
			stream.on('data', (request: StoreRequest) => commit.add(opened(request)));
			stream.on('end', () => stream.end());
		},
	});
	return new Promise((resolve, reject) => {
		server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error) =>
			error === null ? resolve() : reject(error),
		);
	});
}

/** The store keeps what it was sent, and not how it came. */
function opened(request: StoreRequest): StoreRequest {
	const { version, messageId, packed } = request;
	return packed === undefined || packed.length === 0 ? request : { version, messageId, plain: unpack(packed) };
}
