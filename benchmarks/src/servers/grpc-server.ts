import { Server, ServerCredentials, status } from '@grpc/grpc-js';

import { loadDiscovery } from '../peers/discovery-proto.ts';
import { announce } from './announce.ts';
import { ADDRESS, SERVICE } from './catalogue.ts';

interface Call {
	readonly request: { readonly service: string };
}

type Reply = (error: { code: number; message: string } | null, value?: unknown) => void;

/** The way services were found before: a unary call. */
export function serveGrpc(address: string): void {
	const server = new Server();
	server.addService(loadDiscovery().service, {
		GetService({ request }: Call, reply: Reply): void {
			if (request.service === SERVICE) reply(null, ADDRESS);
			else reply({ code: status.NOT_FOUND, message: `no service ${request.service}` });
		},
	});
	const target = address.startsWith('unix:') ? address : address.slice('tcp:'.length);
	server.bindAsync(target, ServerCredentials.createInsecure(), (error, port) => {
		if (error !== null) throw error;
		announce(address.startsWith('unix:') ? address : `127.0.0.1:${port}`);
	});
}
