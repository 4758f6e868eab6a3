import { request } from 'node:http';

/** A request to a Consul agent over the unix domain socket that it listens at. */
export interface ConsulRequest {
	/** Default GET. */
	readonly method?: 'GET' | 'PUT' | 'DELETE';
	/** With its query: `/v1/status/leader`. */
	readonly path: string;
	/** Sent as it is if it is bytes, else as JSON. */
	readonly body?: unknown;
	readonly token?: string;
	/** For the whole answer, in milliseconds. Default 10000: an agent that is paused accepts and never answers. */
	readonly timeoutMs?: number;
}

/** What an agent answered, whatever its status. */
export interface ConsulReply {
	readonly status: number;
	/** `X-Consul-Index`; 0 when there is none. */
	readonly index: number;
	readonly bytes: Buffer;
}

const TIMEOUT_MS = 10_000;

/**
 * Asks an agent over its unix domain socket: that one is reached from outside the agent's network namespace too, and
 * counts among no connections of the network. Rejects when there is no answer, or none in time.
 */
export function askConsul(socketPath: string, ask: ConsulRequest): Promise<ConsulReply> {
	const { method = 'GET', path, body, token, timeoutMs = TIMEOUT_MS } = ask;
	const payload = body === undefined || Buffer.isBuffer(body) ? body : JSON.stringify(body);
	return new Promise((resolve, reject) => {
		const headers = token === undefined ? {} : { 'x-consul-token': token };
		const signal = AbortSignal.timeout(timeoutMs);
		const sent = request({ socketPath, method, path, headers, signal, agent: false }, (response) => {
			const chunks: Buffer[] = [];
			response.on('data', (chunk: Buffer) => chunks.push(chunk));
			response.on('error', reject);
			response.on('end', () => {
				const { statusCode = 0, headers: answered } = response;
				resolve({
					status: statusCode,
					index: Number(answered['x-consul-index'] ?? 0),
					bytes: Buffer.concat(chunks),
				});
			});
		});
		sent.on('error', reject);
		sent.end(payload);
	});
}

/** The JSON of a reply. Throws an Error with what was answered unless the status is 200. */
export function consulJson<T>(ask: ConsulRequest, { status, bytes }: ConsulReply): T {
	if (status !== 200)
		throw new Error(`${ask.method ?? 'GET'} ${ask.path}: ${status} ${bytes.toString().slice(0, 500)}`);
	return (bytes.length === 0 ? null : JSON.parse(bytes.toString())) as T;
}
