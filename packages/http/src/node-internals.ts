import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, type RequestOptions } from 'node:http';
import type { Socket } from 'node:net';

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
