import { type ClientRequest, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';

import type { ServiceAddress, ServiceQuery } from '@spock/client';
import { InstanceResources } from '@spock/client/integrations';

import {
	type DiscoveryAgentOptions,
	type DiscoveryHttpsAgentOptions,
	type Settings,
	splitOptions,
} from './agent-options.ts';
import { BalancedRequest, type RequestOwner } from './balanced-request.ts';
import { InstanceSockets, idleTimeMs } from './instance-sockets.ts';
import { internalsOf, placeByNode, type RequestTarget } from './node-internals.ts';

/**
 * An agent for `http.request` and everything that is built on it (axios, got, node-fetch, superagent): requests to
 * `http://barista.spock/…` go to an instance of the service `barista`, another one for each request although connections
 * are kept alive; requests to other hosts go where they always went.
 *
 * A request fails with the SpockError that `diplomat.acquire` rejects with, or with UNAVAILABLE, which names service and
 * instance, when no connection could be made. What fails later keeps the error of Node, whose `cause` is such a SpockError.
 * Call `destroy` when it is not needed any more; the Diplomat is not closed by it.
 */
export class DiscoveryAgent extends HttpAgent {
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

/**
 * As `DiscoveryAgent`, for `https.request` and `https://barista.spock/…`. The certificate of an instance must be for its host
 * as the registry has it, or for `servername` if that is set.
 */
export class DiscoveryHttpsAgent extends HttpsAgent {
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

/** Adds discovery to an agent of Node: it receives every request, and every connection that is kept alive. */
class RequestBalancer implements RequestOwner {
	readonly settings: Settings;
	readonly agent: HttpAgent;
	/** Counted up by `close`: what was begun before it is not begun again. */
	generation = 0;
	/** Undefined where connections are not kept: each ends with its request. */
	readonly #resources: InstanceResources<InstanceSockets> | undefined;
	/** Whose a connection is; connections to other hosts have none. */
	readonly #owners = new WeakMap<Duplex, InstanceSockets>();

	constructor(agent: HttpAgent, settings: Settings) {
		this.agent = agent;
		this.settings = settings;
		if (!settings.keepAlive) return;
		this.#resources = new InstanceResources({
			diplomat: settings.diplomat,
			create: () => new InstanceSockets((unused) => this.#resources?.delete(unused)),
			drain: (sockets) => sockets.drain(),
		});
	}

	addRequest(request: ClientRequest, options: RequestTarget): void {
		const { host, socketPath } = options;
		let query: ServiceQuery | undefined;
		try {
			// A path of a socket goes before every host.
			query = typeof host === 'string' && !socketPath ? this.settings.rule.query(host) : undefined;
		} catch (error) {
			internalsOf(request).onSocket(null, error);
			return;
		}
		if (query === undefined) placeByNode(this.agent, request, options);
		else new BalancedRequest(this, request, options, query).start();
	}

	/** The connections to an instance, to which one is about to be added. */
	socketsOf(query: ServiceQuery, address: ServiceAddress): InstanceSockets | undefined {
		return this.#resources?.get(query, address);
	}

	/**
	 * A connection is used by a request. Node keeps one for any request to the same host and port, of whatever question: it is the
	 * newest's alone, and an instance that leaves another question cuts it no more.
	 */
	use(socket: Duplex, owner: InstanceSockets): void {
		const before = this.#owners.get(socket);
		if (before !== owner) before?.forget(socket);
		this.#owners.set(socket, owner);
		owner.use(socket);
	}

	/** Whether a connection whose response has ended is kept for the next one; `isKept` is what Node says. */
	keeps(socket: Duplex, isKept: unknown): boolean {
		const owner = this.#owners.get(socket);
		if (owner === undefined || isKept === false) return isKept !== false;
		if (owner.isDrained) return false;
		const { idleTimeoutMs, socketTimeoutMs, keepAliveBufferMs } = this.settings;
		const limitMs = socketTimeoutMs > 0 ? Math.min(socketTimeoutMs, idleTimeoutMs) : idleTimeoutMs;
		const idleMs = idleTimeMs(limitMs, owner.keepAliveOf(socket), keepAliveBufferMs);
		if (idleMs <= 0) return false;
		owner.idle(socket);
		// Node's agent closes an idle socket at its `timeout`. It is set back when the socket is used again.
		(socket as Duplex & { setTimeout(timeoutMs: number): void }).setTimeout(idleMs);
		return true;
	}

	/** Ends the watches of services; Node closes the sockets. */
	close(): void {
		this.generation++;
		void this.#resources?.close();
	}
}
