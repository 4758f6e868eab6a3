import type { ClientRequest } from 'node:http';
import { Agent } from 'node:https';
import type { Duplex } from 'node:stream';

import { type DiscoveryHttpsAgentOptions, splitOptions } from './agent-options.ts';
import type { RequestTarget } from './node-internals.ts';
import { RequestBalancer } from './request-balancer.ts';

/**
 * As `DiscoveryAgent`, for `https.request` and `https://barista.spock/…`. The certificate of an instance must be for its host
 * as the registry has it, or for `servername` if that is set.
 */
export class DiscoveryHttpsAgent extends Agent {
	readonly #balancer: RequestBalancer;

	/** Throws a TypeError or RangeError that names the wrong option. */
	constructor(options: DiscoveryHttpsAgentOptions) {
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
