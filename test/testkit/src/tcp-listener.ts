import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** A server that takes connections, and where. */
export interface TcpListener {
	readonly host: string;
	readonly port: number;
	/** Takes no more connections; those that there are stay. */
	close(): Server;
}

/** Takes connections at a free port of 127.0.0.1; what it does with each is given. Default: nothing, as a server that hangs. */
export async function tcpListener(onConnection: (socket: Socket) => unknown = () => undefined): Promise<TcpListener> {
	const host = '127.0.0.1';
	const server = createServer(onConnection).listen(0, host);
	await once(server, 'listening');
	return { host, port: (server.address() as AddressInfo).port, close: () => server.close() };
}
