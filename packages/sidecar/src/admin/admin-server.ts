import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

import { formatAddress } from '@spock/protocol/node';
import type { Registry } from 'prom-client';

import { bind } from '../server/bind.ts';

/** What the admin port shows. */
export interface AdminServerOptions {
	readonly host: string;
	readonly port: number;
	readonly registry: Registry;
	readonly readiness: () => { readonly ready: boolean; readonly reasons: readonly string[] };
	/** A connection could not be accepted; later ones may be. Default: nobody is told. */
	readonly acceptFailed?: (error: Error) => void;
}

interface Page {
	readonly status: number;
	readonly type: string;
	readonly body: string;
}

/**
 * HTTP for machines: /livez says that the process turns, and never depends on the registry; /readyz says with reasons
 * whether lookups should be sent here; /metrics is for Prometheus.
 */
export class AdminServer {
	readonly #options: AdminServerOptions;
	#server: Server | undefined;

	constructor(options: AdminServerOptions) {
		this.#options = options;
	}

	/** Binds the port; gives the address. Rejects with an Error that names it; it may be tried again then. */
	async start(): Promise<string> {
		const { host, port, acceptFailed = () => undefined } = this.#options;
		// A new one for each try: nothing of a try that failed is left.
		const server = createServer({ requestTimeout: 10_000, headersTimeout: 5000 }, (request, response) => {
			void this.#respond(request, response);
		});
		server.maxConnections = 256;
		this.#server = server;
		try {
			await bind(server, { host, port }, acceptFailed);
		} catch (error) {
			const cause = (error as Error).cause as Error;
			throw new Error(`cannot serve the admin port at ${formatAddress({ host, port })}: ${cause.message}`, { cause });
		}
		const bound = server.address();
		return formatAddress({ host, port: typeof bound === 'object' && bound !== null ? bound.port : port });
	}

	/** Ends every connection; idempotent. */
	close(): Promise<void> {
		const server = this.#server;
		if (server === undefined) return Promise.resolve();
		return new Promise((resolve) => {
			server.close(() => resolve());
			server.closeAllConnections();
		});
	}

	async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
		let page: Page;
		try {
			page = await this.#page(request);
		} catch (error) {
			page = text(500, `internal fault: ${error instanceof Error ? error.message : 'unknown'}\n`);
		}
		response.writeHead(page.status, {
			'content-type': page.type,
			'content-length': Buffer.byteLength(page.body),
			'cache-control': 'no-store',
			...(page.status === 405 && { allow: 'GET, HEAD' }),
		});
		response.end(request.method === 'HEAD' ? undefined : page.body);
	}

	async #page({ method, url = '/' }: IncomingMessage): Promise<Page> {
		if (method !== 'GET' && method !== 'HEAD') return text(405, 'only GET and HEAD\n');
		const { registry, readiness } = this.#options;
		switch (url.split('?')[0]) {
			case '/livez':
				return text(200, 'ok\n');
			case '/readyz': {
				const state = readiness();
				return { status: state.ready ? 200 : 503, type: 'application/json', body: `${JSON.stringify(state)}\n` };
			}
			case '/metrics':
				return { status: 200, type: registry.contentType, body: await registry.metrics() };
			case '/':
				return text(200, 'Spock\n\n/livez    alive\n/readyz   ready, with reasons\n/metrics  for Prometheus\n');
			default:
				return text(404, 'there are /livez, /readyz and /metrics\n');
		}
	}
}

function text(status: number, body: string): Page {
	return { status, type: 'text/plain; charset=utf-8', body };
}
