import { EventEmitter } from 'node:events';

import { type Lease, SpockError } from '@spock/client';
import { InstanceResources } from '@spock/client/integrations';
import type { Clock } from '@spock/protocol/internal';

import type { AnyAgentClass, AnyDispatcher, Dispatch } from './any-undici.ts';
import { both, dispatchOf, fetchAgents, forwardEvents, makerOf, newBase } from './any-undici.ts';
import { IdleAgents } from './idle-agents.ts';
import { Origins } from './origins.ts';
import { listenFor } from './request-events.ts';
import { ServiceDispatch, type ServiceOptions } from './service-dispatch.ts';

/** Options of `createDispatcher`. */
export interface DispatcherOptions<A extends AnyAgentClass = AnyAgentClass> extends ServiceOptions {
	/**
	 * The `Agent` of the undici whose `fetch` or `request` the dispatcher is for. Default: that of the fetch built into Node.
	 */
	readonly Agent?: A;
	/** What each agent is made with: certificates (`connect`), time-outs, connections. Default: undici's defaults. */
	readonly agentOptions?: ConstructorParameters<A>[0];
}

/** An agent for each instance, and one for what is no service. */
export class Agents {
	/** The dispatcher itself, which emits what its agents do. */
	readonly events: EventEmitter;
	readonly dispatch: Dispatch;
	readonly #elsewhere: AnyDispatcher;
	readonly #instances: InstanceResources<AnyDispatcher>;
	readonly #idle: IdleAgents;
	/** Undici's clients that have a connection. An agent that is being closed no longer knows its own. */
	readonly #connected = new Set<AnyDispatcher>();
	/** Agents of instances that take requests. */
	readonly #kept = new Set<AnyDispatcher>();
	/** Ends of unused agents. */
	readonly #dropped = new Set<Promise<void>>();
	readonly #services: ServiceDispatch;
	readonly #unlisten: () => void;
	#ended: Promise<void> | undefined;
	#isDestroyed = false;

	/** Throws a TypeError or BAD_REQUEST for wrong options. */
	constructor(options: DispatcherOptions, clock: Clock) {
		const { diplomat } = options;
		const origins = new Origins(options);
		const { Agent, agentOptions } = options;
		checkAgentOptions(Agent, agentOptions);
		const make = Agent === undefined ? fetchAgents() : both(makerOf(Agent));
		this.#elsewhere = make.elsewhere(agentOptions);
		this.events = newBase(this.#elsewhere);
		this.#forward(this.#elsewhere);
		this.#instances = new InstanceResources({
			diplomat,
			create: () => this.#watched(this.#forward(make.instance(agentOptions))),
			drain: (agent) => this.#drain(agent),
		});
		this.#idle = new IdleAgents((agent) => this.#drop(agent), clock);
		const elsewhere = dispatchOf(this.#elsewhere);
		this.#services = new ServiceDispatch(options, origins, {
			toInstance: ({ query, address }: Lease) => {
				const agent = this.#instances.get(query, address);
				this.#idle.use(agent);
				return dispatchOf(agent);
			},
			elsewhere,
		});
		// After the end it is undici that refuses, with its own errors.
		this.dispatch = (request, handler) =>
			this.#ended === undefined ? this.#services.dispatch(request, handler) : elsewhere(request, handler);
		this.#unlisten = listenFor(diplomat);
	}

	close(): Promise<void> {
		this.#ended ??= this.#end();
		return this.#ended;
	}

	async destroy(error: Error | null): Promise<void> {
		const ended = this.close();
		if (!this.#isDestroyed) {
			this.#isDestroyed = true;
			this.#services.cancel(error ?? new SpockError('CLOSED', 'the dispatcher was destroyed'));
			const all = [this.#elsewhere, ...this.#instances, ...this.#connected];
			await Promise.all(all.map((one) => one.destroy(error)));
		}
		await ended;
	}

	async #end(): Promise<void> {
		const elsewhere = this.#close(this.#elsewhere);
		await this.#services.settled();
		await this.#instances.close();
		await Promise.all(this.#dropped);
		await elsewhere;
		this.#unlisten();
	}

	#forward(agent: AnyDispatcher): AnyDispatcher {
		if (!(agent instanceof EventEmitter)) return agent;
		forwardEvents(agent, this.events);
		// Reported with everything that the connection belongs to, the client last.
		agent.on('connect', (_origin, targets: AnyDispatcher[]) => {
			for (const client of targets.slice(-1)) this.#connected.add(client);
		});
		agent.on('disconnect', (_origin, targets: AnyDispatcher[]) => {
			for (const client of targets.slice(-1)) this.#connected.delete(client);
		});
		return agent;
	}

	/** Knows when it has no connection: at first, and whenever the last one has ended. */
	#watched(agent: AnyDispatcher): AnyDispatcher {
		this.#idle.add(agent);
		if (!(agent instanceof EventEmitter)) return agent;
		let connections = 0;
		agent.on('connect', () => {
			connections++;
			this.#idle.delete(agent);
		});
		agent.on('disconnect', () => {
			connections--;
			if (connections === 0 && this.#kept.has(agent)) this.#idle.add(agent);
		});
		this.#kept.add(agent);
		return agent;
	}

	async #drain(agent: AnyDispatcher): Promise<void> {
		this.#kept.delete(agent);
		this.#idle.delete(agent);
		await this.#close(agent);
	}

	/** Ends an unused agent: gracefully, because a request may still wait for its connection. */
	#drop(agent: AnyDispatcher): void {
		this.#instances.delete(agent);
		const dropped = this.#drain(agent).finally(() => this.#dropped.delete(dropped));
		this.#dropped.add(dropped);
	}

	/** Gracefully, if it has not been destroyed. */
	async #close(agent: AnyDispatcher): Promise<void> {
		if (!this.#isDestroyed) await agent.close();
	}
}

/** Throws a TypeError for what the dispatcher alone is given. */
function checkAgentOptions(Agent: unknown, agentOptions: unknown): void {
	if (Agent !== undefined && typeof Agent !== 'function') {
		throw new TypeError('Agent must be the class Agent of undici: give the class, not an instance');
	}
	if (agentOptions === undefined) return;
	if (typeof agentOptions !== 'object' || agentOptions === null || Array.isArray(agentOptions)) {
		throw new TypeError('agentOptions must be an object with the options of undici’s Agent');
	}
}
