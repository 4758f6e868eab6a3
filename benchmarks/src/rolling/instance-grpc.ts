import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';

import type { InstanceServer } from './instance-http.ts';
import type { InstanceSettings } from './rolling-messages.ts';
import { WORK_SERVICE, type WorkReply } from './work-service.ts';

/** Answers every call with the name of the instance, after its work. */
export async function serveGrpcInstance({ name, ports, workMs }: InstanceSettings): Promise<InstanceServer> {
	const server = new Server();
	const work = ({ metadata }: ServerUnaryCall<unknown, WorkReply>, reply: sendUnaryData<WorkReply>): void => {
		const [retries = 0] = metadata.get('grpc-previous-rpc-attempts');
		const answer = (): void => reply(null, { instance: name, retries: Number(retries) });
		if (workMs === 0) answer();
		else setTimeout(answer, workMs);
	};
	server.addService(WORK_SERVICE, { work });
	const port = await new Promise<number>((resolve, reject) => {
		server.bindAsync(`127.0.0.1:${ports.grpc}`, ServerCredentials.createInsecure(), (error, bound) =>
			error === null ? resolve(bound) : reject(error),
		);
	});
	return {
		port,
		stop: () =>
			new Promise((resolve, reject) => {
				server.tryShutdown((error) => (error === undefined ? resolve() : reject(error)));
			}),
	};
}
