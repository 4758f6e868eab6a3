import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import { formatAddress } from '@spock/protocol/node';
import type { Registry } from 'prom-client';

import { bind, isLoopback } from '../listen/bind.ts';
import { type AdminPage, type AdminSite, jsonPage, sendPage, textPage } from './admin-page.ts';
import { RequestGuard } from './request-guard.ts';

/** Connections at once. The next one takes the place of the one that has been without a request for longest, or of the oldest. */
export const ADMIN_CONNECTIONS_MAX = 256;
/** How long a request may take from the connection's beginning to the end of its head. */
const HEADERS_MS_MAX = 2000;

/** What the admin port shows. */
export interface AdminServerOptions {
	readonly host: string;
	readonly port: number;
	/** Allows addresses that other machines can reach, such as that of a pod. Default false. */
	readonly allowRemote?: boolean;
	/** Names that it answers to beside its own addresses and `localhost`. Default: none. */
	readonly allowedHosts?: readonly string[];
	readonly registry: Registry;
	readonly readiness: () => { readonly ready: boolean; readonly reasons: readonly string[] };
	/** Further pages, closed with the port. Default: none. */
	readonly site?: AdminSite;
	/** A connection could not be accepted; later ones may be. Default: not reported. */
	readonly acceptFailed?: (error: Error) => void;
	/** A page could not be made, because of a bug. Default: not reported. */
	readonly failed?: (error: unknown) => void;
}

/** Throws an Error for an address that other machines can reach, unless that is allowed. */
export function refuseRemoteAdmin({
	host,
	port,
	allowRemote = false,
}: Pick<AdminServerOptions, 'host' | 'port' | 'allowRemote'>): void {
	if (allowRemote || isLoopback(host)) return;
	const address = formatAddress({ host, port });
	const message = `the admin port at ${address} can be reached from other machines: use 127.0.0.1, or allow it with --admin-any`;
	throw new Error(message);
}

/**
 * HTTP for machines and people, to read and not to change anything: /livez says that the process turns, and never depends on
 * the registry; /readyz says with reasons whether lookups should be sent here; /metrics is for Prometheus.
 */
export class AdminServer {
	readonly #options: AdminServerOptions;
	readonly #guard: RequestGuard;
	#server: Server | undefined;

	constructor(options: AdminServerOptions) {
		this.#options = options;
		this.#guard = new RequestGuard({ host: options.host, allowedHosts: options.allowedHosts ?? [] });
	}

	/** Binds the port; gives the address. Rejects with an Error that names it; it may be tried again then. */
	async start(): Promise<string> {
		const { host, port, acceptFailed = () => undefined } = this.#options;
		refuseRemoteAdmin(this.#options);
		// Without a request, or with half of one, the oldest first: a crowd of these must not keep out the probes.
		const idle = new Set<Socket>();
		const open = new Set<Socket>();
		// A new one for each try: nothing of a try that failed is left.
		const server = createServer(
			{ requestTimeout: 10_000, headersTimeout: HEADERS_MS_MAX, connectionsCheckingInterval: 500, maxHeaderSize: 8192 },
			(request, response) => {
				idle.delete(request.socket);
				response.once('close', () => {
					if (open.has(request.socket)) idle.add(request.socket);
				});
				void this.#respond(request, response);
			},
		);
		const forget = (socket: Socket): void => {
			open.delete(socket);
			idle.delete(socket);
		};
		server.on('connection', (socket) => {
			if (open.size >= ADMIN_CONNECTIONS_MAX) {
				const [oldest] = idle.size > 0 ? idle : open;
				if (oldest !== undefined) forget(oldest);
				oldest?.destroy();
			}
			open.add(socket);
			idle.add(socket);
			socket.once('close', () => forget(socket));
		});
		this.#server = server;
		try {
			await bind(server, { host, port }, acceptFailed);
		} catch (error) {
			const { message, cause } = error as Error;
			const why = message.replace(/^cannot listen at \S+: /, '');
			throw new Error(`cannot serve the admin port at ${formatAddress({ host, port })}: ${why}`, { cause });
		}
		const bound = server.address();
		return formatAddress({ host, port: typeof bound === 'object' && bound !== null ? bound.port : port });
	}

	/** Ends every connection; idempotent. */
	close(): Promise<void> {
		this.#options.site?.close();
		const server = this.#server;
		if (server === undefined) return Promise.resolve();
		return new Promise((resolve) => {
			server.close(() => resolve());
			server.closeAllConnections();
		});
	}

	async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
		let page: AdminPage | undefined;
		try {
			page = this.#guard.refusal(request) ?? (await this.#page(request, response));
		} catch (error) {
			this.#options.failed?.(error);
			page = textPage(500, 'internal fault; the log of the sidecar has more\n');
		}
		// A stream that failed after it had begun: its reader comes again.
		if (response.headersSent && page !== undefined) response.destroy();
		else if (page !== undefined) sendPage(request, response, page);
	}

	/** Undefined where the answer is a stream, which has begun. */
	async #page({ method, url = '/' }: IncomingMessage, response: ServerResponse): Promise<AdminPage | undefined> {
		const { registry, readiness, site } = this.#options;
		const [path = '/', query = ''] = url.split('?', 2);
		switch (path) {
			case '/livez':
				return textPage(200, 'ok\n');
			case '/readyz': {
				const state = readiness();
				return jsonPage(state.ready ? 200 : 503, state);
			}
			case '/metrics':
				return { status: 200, type: registry.contentType, body: await registry.metrics() };
		}
		if (path === site?.streamPath && method === 'GET') return site.stream(response);
		const page = site?.page(path, new URLSearchParams(query));
		if (page !== undefined) return page;
		if (path === '/') {
			return textPage(200, 'Spock\n\n/livez    alive\n/readyz   ready, with reasons\n/metrics  for Prometheus\n');
		}
		const known = [
			'/livez',
			'/readyz',
			'/metrics',
			...(site === undefined ? [] : ['/', '/status.json', '/service.json', '/client.json', '/events']),
		];
		return textPage(404, `unknown path; expected one of: ${known.join(', ')}\n`);
	}
}
