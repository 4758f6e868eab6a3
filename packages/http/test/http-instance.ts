import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

import { freePort, type IssuedCertificate } from '@spock/testkit';

import type { Place } from './scripted-service.ts';

/** Options of {@link startInstance}. */
export interface InstanceOptions {
	readonly host?: string;
	/** Default: a free one. */
	readonly port?: number;
	/** With one it speaks TLS. */
	readonly certificate?: IssuedCertificate;
	/** Default: its id, the method, the Host header and the body, in JSON. */
	readonly handle?: RequestListener;
}

/** A server of HTTP that counts. */
export interface HttpInstance extends Place, AsyncDisposable {
	readonly server: Server;
	readonly sockets: ReadonlySet<Socket>;
	/** Connections since it started. */
	readonly connections: number;
	readonly requests: number;
	/** Refuses new connections and cuts those there are. */
	stop(): Promise<void>;
}

/** What an instance answers where nothing else is said. */
export interface Echo {
	readonly id: string;
	readonly method: string;
	readonly host: string;
	readonly body: string;
}

/** Starts one on loopback. */
export async function startInstance(id: string, options: InstanceOptions = {}): Promise<HttpInstance> {
	const { host = '127.0.0.1', port, certificate } = options;
	const handle: RequestListener =
		options.handle ??
		((request, response) => {
			let body = '';
			request.setEncoding('utf8').on('data', (text: string) => {
				body += text;
			});
			request.on('end', () => {
				const { method = '', headers } = request;
				response.setHeader('content-type', 'application/json');
				response.end(JSON.stringify({ id, method, host: headers.host ?? '', body } satisfies Echo));
			});
		});
	let connections = 0;
	let requests = 0;
	const counted: RequestListener = (request, response) => {
		requests++;
		handle(request, response);
	};
	const server = certificate === undefined ? createServer(counted) : createTlsServer(certificate, counted);
	const sockets = new Set<Socket>();
	server.on(certificate === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
		connections++;
		sockets.add(socket);
		socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
	});
	server.listen({ host, port: port ?? (await freePort()) });
	await once(server, 'listening');
	const stop = async (): Promise<void> => {
		if (!server.listening) return;
		const closed = once(server, 'close');
		server.close();
		server.closeAllConnections();
		for (const socket of sockets) socket.destroy();
		await closed;
	};
	return {
		id,
		host,
		port: (server.address() as AddressInfo).port,
		server,
		sockets,
		get connections() {
			return connections;
		},
		get requests() {
			return requests;
		},
		stop,
		[Symbol.asyncDispose]: stop,
	};
}

/** An instance whose answers wait until the test lets them go. */
export async function startHeldInstance(id: string): Promise<HttpInstance & { readonly go: () => void }> {
	const answers: (() => void)[] = [];
	const instance = await startInstance(id, { handle: (_request, response) => answers.push(() => response.end(id)) });
	return Object.assign(instance, {
		go: () => {
			for (const answer of answers.splice(0)) answer();
		},
	});
}

/** Starts several, ended together. */
export async function startInstances(count: number, options: InstanceOptions = {}): Promise<Instances> {
	const list = await Promise.all(
		Array.from({ length: count }, (_, index) => startInstance(`web-${index + 1}`, options)),
	);
	return Object.assign(list, {
		[Symbol.asyncDispose]: async () => {
			await Promise.all(list.map((one) => one.stop()));
		},
	});
}

export type Instances = HttpInstance[] & AsyncDisposable;
