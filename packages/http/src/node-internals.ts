import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, type RequestOptions } from 'node:http';
import { isIPv6, type Socket } from 'node:net';

// What node:http has for agents and does not document. The parts used here are those that agents of other people
// (agent-base, http-proxy-agent) have relied on for years; they are the same in Node 20, 22, 24 and 26, and every test of
// this package runs under each. See https://github.com/nodejs/node/blob/main/lib/_http_agent.js and _http_client.js.

/** What an agent is given of a request: where it goes, and everything that the caller said. */
export type RequestTarget = Omit<RequestOptions, 'host' | 'servername'> & {
	readonly host?: string | null | undefined;
	readonly servername?: string | undefined;
	readonly socketPath?: string | undefined;
};

/** The part of a request that agents work with. */
export interface RequestInternals {
	/**
	 * Gives the request its socket, on which it is written in the next tick; or, without one, ends it with an error: `error`
	 * and then `close` are emitted once, as for every other failure. `destroy(error)` emits nothing before there is a socket.
	 */
	onSocket(socket: Socket | null, error?: unknown): void;
	/** The head as it will be written; null until the first call of `write` or `end`. */
	_header: string | null;
	/** What was written before there was a socket, the head first. */
	readonly outputData: { data: unknown }[];
	/** The response, once its head has come. */
	readonly res: IncomingMessage | null;
	/** True when the socket was given to a listener of `upgrade` or `connect`. */
	readonly upgradeOrConnect: boolean;
}

interface AgentInternals {
	addRequest(this: HttpAgent, request: ClientRequest, options: RequestTarget): void;
}

export function internalsOf(request: ClientRequest): RequestInternals {
	return request as unknown as RequestInternals;
}

/** What Node's agents, of http and https, do with a request: an idle connection, a new one, or the queue. */
export function placeByNode(agent: HttpAgent, request: ClientRequest, target: RequestTarget): void {
	(HttpAgent.prototype as unknown as AgentInternals).addRequest.call(agent, request, target);
}

/** An instance as the Host header has it: without the port that goes without saying, and IPv6 in brackets (RFC 9110, 7.2). */
export function hostHeader(host: string, port: number, defaultPort: number): string {
	const name = isIPv6(host) ? `[${host}]` : host;
	return port === defaultPort ? name : `${name}:${port}`;
}

/**
 * Sets the Host header of a request that nothing was sent of. Its head may have been rendered, because an instance became
 * known only after `end` was called: then the line is replaced in what waits to be sent. A head that was given as an array,
 * or that is not found where it is expected, is left alone.
 */
export function setHostHeader(request: ClientRequest, value: string): void {
	const internals = internalsOf(request);
	const rendered = internals._header;
	if (rendered === null || rendered === undefined) {
		request.setHeader('Host', value);
		return;
	}
	const [first] = internals.outputData;
	const waiting = first?.data;
	if (first !== undefined && !(typeof waiting === 'string' && waiting.startsWith(rendered))) return;
	internals._header = null;
	// This also refuses what must not be in a header.
	request.setHeader('Host', value);
	const changed = rendered.replace(/\r\nhost:[^\r\n]*/i, () => `\r\nHost: ${value}`);
	internals._header = changed;
	if (first !== undefined && typeof waiting === 'string') first.data = changed + waiting.slice(rendered.length);
}
