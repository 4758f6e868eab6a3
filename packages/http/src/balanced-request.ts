import type { ClientRequest, Agent as HttpAgent } from 'node:http';
import { isIP, type Socket } from 'node:net';

import type { Lease, ServiceAddress, ServiceQuery } from '@spock/client';
import { instanceError, serviceError } from '@spock/client/integrations';
import { TIMEOUT_MS_MAX } from '@spock/protocol';

import type { Settings } from './agent-options.ts';
import type { InstanceSockets } from './instance-sockets.ts';
import { hostHeader, internalsOf, placeByNode, type RequestTarget, setHostHeader } from './node-internals.ts';
import { RequestOutcome } from './request-outcome.ts';
import { discard, isConnecting, nameMissingTls, passOn, whenUsable } from './usable-socket.ts';

/**
 * Where a request is: waiting for an instance to be known (`acquiring`), with Node's agent (`placed`), waiting for its socket to
 * be usable (`connecting`), or beyond that (`handed over`).
 */
type Phase =
	| { readonly name: 'acquiring'; readonly abort: AbortController }
	| { readonly name: 'placed' }
	| { readonly name: 'connecting'; readonly socket: Socket; readonly stop: () => void }
	| { readonly name: 'handed over' };

/** The agent that a request is made with. */
export interface RequestOwner {
	readonly settings: Settings;
	readonly agent: HttpAgent;
	/** Changes when the agent is destroyed: a request of before tries no other instance. */
	readonly generation: number;
	/** The connections to an instance, to which one is about to be added; undefined where none is kept. */
	socketsOf(query: ServiceQuery, address: ServiceAddress): InstanceSockets | undefined;
	/** A connection is used by a request to an instance. */
	use(socket: Socket, sockets: InstanceSockets): void;
}

/**
 * One request to a service, until it has its socket. It gets that only when it is connected: before, nothing was sent, and
 * another instance can have the request, whatever its method.
 */
export class BalancedRequest {
	readonly #owner: RequestOwner;
	readonly #request: ClientRequest;
	readonly #options: RequestTarget;
	readonly #query: ServiceQuery;
	readonly #outcome: RequestOutcome;
	readonly #generation: number;
	/** Instances that could not be connected to. */
	readonly #tried = new Set<string>();
	/** The request's own, or those of whoever has wrapped them. */
	readonly #destroy: ClientRequest['destroy'];
	readonly #onSocket: ClientRequest['onSocket'];
	/** True when the Host header was made by Node, and not given. */
	readonly #setsHost: boolean;
	#phase: Phase = { name: 'placed' };
	#lease: Lease | undefined;
	#sockets: InstanceSockets | undefined;

	constructor(owner: RequestOwner, request: ClientRequest, options: RequestTarget, query: ServiceQuery) {
		this.#owner = owner;
		this.#request = request;
		this.#options = options;
		this.#query = query;
		this.#outcome = new RequestOutcome(request, query, owner.settings);
		this.#generation = owner.generation;
		this.#destroy = request.destroy;
		this.#onSocket = request.onSocket;
		this.#setsHost = !owner.settings.keepHost && request.hasHeader('host') && !isHostGiven(options.headers);
	}

	start(): void {
		// A request without a socket tells nobody that it was destroyed; and whether its caller has destroyed it decides what its
		// end says of the instance.
		this.#request.destroy = (reason) => this.#destroyedByCaller(reason);
		this.#request.onSocket = (socket: Socket | null, error?: unknown) => this.#given(socket, error);
		const lease = this.#tryAcquire();
		if (lease === undefined) void this.#acquire();
		else this.#place(lease);
	}

	/** Undefined also where the source of the services throws: `acquire` then says why, where nothing else is to be said. */
	#tryAcquire(): Lease | undefined {
		try {
			return this.#owner.settings.diplomat.tryAcquire(this.#query, { exclude: this.#excluded() });
		} catch {
			return undefined;
		}
	}

	#excluded(): ReadonlySet<string> {
		const { failed } = this.#outcome;
		return failed === undefined ? this.#tried : new Set([...failed, ...this.#tried]);
	}

	/** The service is not known yet, or no instance serves: a lookup finds out which. */
	async #acquire(): Promise<void> {
		const abort = new AbortController();
		this.#phase = { name: 'acquiring', abort };
		const { timeout } = this.#options;
		try {
			const lease = await this.#owner.settings.diplomat.acquire(this.#query, {
				exclude: this.#excluded(),
				signal: abort.signal,
				// Of a request that has no socket yet, Node keeps no time.
				...(timeout !== undefined && timeout > 0 && { timeoutMs: Math.min(Math.ceil(timeout), TIMEOUT_MS_MAX) }),
			});
			this.#place(lease);
		} catch (error) {
			this.#fail(serviceError(this.#query, error));
		}
	}

	/** Gives the request to Node's agent, aimed at an instance. */
	#place(lease: Lease): void {
		const { agent } = this.#owner;
		const { host, port } = lease.address;
		this.#phase = { name: 'placed' };
		this.#lease = lease;
		// Node says only when it is so, and this may have been given a closed one before.
		this.#request.reusedSocket = false;
		this.#sockets = this.#owner.socketsOf(this.#query, lease.address);
		this.#outcome.begin(lease, this.#sockets);
		if (this.#outcome.needsNewConnection) this.#sockets?.closeIdle();
		try {
			const { defaultPort } = agent as typeof agent & { readonly defaultPort: number };
			if (this.#setsHost) setHostHeader(this.#request, hostHeader(host, port, defaultPort));
			const servername = this.#servername(lease.address);
			placeByNode(agent, this.#request, { ...this.#options, host, hostname: host, port, servername });
		} catch (error) {
			// A wrong option, of TLS for example, or a `servername` that throws: it would be as wrong for the next instance.
			this.#fail(error);
		}
	}

	#servername(address: ServiceAddress): string {
		const { servername } = this.#owner.settings;
		if (this.#options.servername !== undefined) return this.#options.servername;
		if (servername !== undefined) return typeof servername === 'string' ? servername : servername(this.#query, address);
		// An IP address is no server name (RFC 6066, section 3); the certificate is checked against it all the same.
		return isIP(address.host) === 0 ? address.host : '';
	}

	/** Node's agent has a socket for this request: an idle one, a new one that is not yet connected, or none. */
	#given(socket: Socket | null, error: unknown): void {
		const request = this.#request;
		if (socket === null || error) {
			this.#isUnusable(socket, error, false);
			return;
		}
		const { connectTimeoutMs, clock, socketTimeoutMs } = this.#owner.settings;
		const isReused = request.reusedSocket;
		// While it was idle it had a time of its own.
		if (isReused) socket.setTimeout(socketTimeoutMs);
		if (request.destroyed) {
			// Node gives it to the next in the queue, which is safe with one that is connected.
			if (isConnecting(socket)) this.#isUnusable(socket, undefined, false);
			else this.#handOver(socket);
			return;
		}
		if (this.#sockets?.isDrained === true && this.#movesOn(socket)) return;
		if (this.#sockets !== undefined) this.#owner.use(socket, this.#sockets);
		const onTimeout = (): void => void request.emit('timeout');
		let isSettled = false;
		const stop = whenUsable(socket, { isReused, connectTimeoutMs, clock, onTimeout }, (problem) => {
			isSettled = true;
			if (problem === undefined) this.#handOver(socket);
			else this.#isUnusable(socket, problem, isReused);
		});
		if (!isSettled) this.#phase = { name: 'connecting', socket, stop };
	}

	/** The instance has left while the request was queued for it: true if another one has it now. */
	#movesOn(socket: Socket): boolean {
		const lease = this.#tryAcquire();
		if (lease === undefined) return false;
		this.#lease?.release('cancelled');
		if (isConnecting(socket)) discard(socket);
		else passOn(socket);
		this.#place(lease);
		return true;
	}

	/** Nothing was sent: another instance gets the request, unless there were enough. */
	#isUnusable(socket: Socket | null, problem: unknown, isReused: boolean): void {
		const lease = this.#lease;
		// It has told what is wrong with it.
		if (socket !== null) discard(socket);
		if (lease === undefined || this.#request.destroyed) {
			this.#fail(problem);
			return;
		}
		// That an idle connection was closed says nothing of the instance; there are at most as many of them as were idle.
		lease.release(isReused ? 'cancelled' : 'failure');
		if (!isReused) {
			this.#tried.add(lease.address.instance);
			this.#outcome.blame();
		}
		const { settings, generation } = this.#owner;
		const isWorthIt = this.#tried.size <= settings.connectRetriesMax && this.#generation === generation;
		const next = isWorthIt ? this.#tryAcquire() : undefined;
		if (next !== undefined && !this.#tried.has(next.address.instance)) {
			this.#place(next);
			return;
		}
		next?.release('cancelled');
		this.#fail(instanceError(this.#query, lease.address, nameMissingTls(problem)));
	}

	/** Lets Node write the request. */
	#handOver(socket: Socket): void {
		this.#phase = { name: 'handed over' };
		this.#request.onSocket = this.#onSocket;
		this.#request.onSocket(socket);
	}

	/** Ends a request that was not sent. */
	#fail(error: unknown): void {
		this.#lease?.release('cancelled');
		this.#phase = { name: 'handed over' };
		this.#request.onSocket = this.#onSocket;
		// One that its caller has destroyed fails with the reason that was given for that.
		internalsOf(this.#request).onSocket(null, this.#request.destroyed ? undefined : error);
	}

	#destroyedByCaller(reason: Error | undefined): ClientRequest {
		const request = this.#request;
		const isFirst = !request.destroyed;
		if (isFirst) this.#outcome.destroyedByCaller(reason);
		this.#destroy.call(request, reason);
		const phase = this.#phase;
		if (!isFirst || phase.name === 'handed over') return request;
		if (phase.name === 'acquiring') {
			phase.abort.abort();
			return request;
		}
		// It may be in Node's queue for long, where nothing will be sent any more.
		this.#outcome.release();
		if (phase.name === 'connecting') {
			phase.stop();
			this.#isUnusable(phase.socket, undefined, false);
		}
		return request;
	}
}

/** True if the caller has set the header, which must then stay as it is. */
function isHostGiven(headers: RequestTarget['headers']): boolean {
	if (headers === undefined || headers === null) return false;
	return Array.isArray(headers) || Object.keys(headers).some((name) => name.toLowerCase() === 'host');
}
