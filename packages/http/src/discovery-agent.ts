import { Agent, type ClientRequest } from 'node:http';
import type { Duplex } from 'node:stream';

import { type DiscoveryAgentOptions, splitOptions } from './agent-options.ts';
import type { RequestTarget } from './node-internals.ts';
import { RequestBalancer } from './request-balancer.ts';

/**
 * An agent for `http.request` and everything that is built on it (axios, got, node-fetch, superagent): requests to
 * `http://barista.spock/…` go to an instance of the service `barista`, another one for each request although connections
 * are kept alive; requests to other hosts go where they always went.
 *
 * A request fails with the SpockError that `diplomat.acquire` rejects with, or with UNAVAILABLE, which names service and
 * instance, when no connection could be made. What fails later keeps the error of Node, whose `cause` is such a SpockError.
 * Call `destroy` when it is not needed any more; the Diplomat is not closed by it.
 */
export class DiscoveryAgent extends Agent {
	readonly #balancer: RequestBalancer;

	/** Throws a TypeError or RangeError that names the wrong option. */
	constructor(options: DiscoveryAgentOptions) {
		const { settings, agentOptions } = splitOptions(options);
		super(agentOptions);
		this.#balancer = new RequestBalancer(this, settings);
	}

	/** Called by Node for each request. */
	addRequest(request: ClientRequest, options: RequestTarget): void {
		this.#balancer.addRequest(request, options);
	}

	/** Called by Node when a response has ended: false closes the connection. */
	override keepSocketAlive(socket: Duplex): boolean {
		return this.#balancer.keeps(socket, super.keepSocketAlive(socket));
	}

	/** Closes every connection, idle or not. */
	override destroy(): void {
		this.#balancer.close();
		super.destroy();
	}
}
