import { EventEmitter } from 'node:events';

import { type Lease, SpockError } from '@spock/client';
import { InstanceResources } from '@spock/client/integrations';

import { dispatchOf, newBase, withCallback } from './dispatcher-base.ts';
import { fetchAgents } from './fetch-agent.ts';
import { checkOptions } from './interceptor.ts';
import { Origins } from './origins.ts';
import { listen } from './request-events.ts';
import { ServiceDispatch, type ServiceOptions } from './service-dispatch.ts';
import type { AnyAgentClass, AnyDispatcher, Dispatch } from './undici-types.ts';

/** Options of {@link createDispatcher}. */
export interface DispatcherOptions<A extends AnyAgentClass = AnyAgentClass> extends ServiceOptions {
	/**
	 * The `Agent` of the undici whose `fetch` or `request` the dispatcher is for. Default: that of the fetch built into Node.
	 */
	readonly Agent?: A;
	/** What each agent is made with: certificates (`connect`), time-outs, connections. Default: undici's defaults. */
	readonly agentOptions?: ConstructorParameters<A>[0];
}

/** What there is beside undici's own `Dispatcher`: the ends of its life. */
export interface ServiceDispatcher extends AsyncDisposable {
	/** Takes no more requests, waits for those under way, and closes every connection. Idempotent. */
	close(): Promise<void>;
	/** Fails every request with the error, or undici's ClientDestroyedError, and closes every connection. Idempotent. */
	destroy(error?: Error | null): Promise<void>;
}

/** The dispatcher that the global `fetch` takes, in the words of the app's own types. */
export type FetchDispatcher = RequestInit extends { dispatcher?: infer D } ? NonNullable<D> : AnyDispatcher;

/** What `compose` of an agent gives: undici's `Dispatcher` in its version. */
export type DispatcherOf<A> = A extends { compose(...interceptors: never[]): infer D } ? D : A;

/**
 * A dispatcher for `fetch(url, { dispatcher })` and `request(url, { dispatcher })`: requests to `http://barista.spock/…` go
 * to an instance of `barista`, each to one of its own, and how it ends is reported; others go on as without it. Every
 * instance has an agent of its own, closed gracefully once its instance has left the service. With `compose` interceptors of
 * undici stand around it: `createDispatcher({ diplomat, Agent }).compose(interceptors.retry())` retries at another instance.
 *
 * Its requests fail as those of `spockInterceptor` do. The caller ends it with `close` or `destroy`; the Diplomat stays open.
 * Throws a TypeError or BAD_REQUEST for wrong options.
 */
export function createDispatcher(
	options: DispatcherOptions & { readonly Agent?: undefined },
): FetchDispatcher & ServiceDispatcher;
export function createDispatcher<A extends AnyAgentClass>(
	options: DispatcherOptions<A> & { readonly Agent: A },
): DispatcherOf<InstanceType<A>> & ServiceDispatcher;
export function createDispatcher(options: DispatcherOptions): AnyDispatcher & ServiceDispatcher {
	checkOptions(options);
	const agents = new Agents(options);
	// Undici's base class has `compose` and, with npm's, `request` and `stream`; nothing of it is changed.
	return Object.assign(agents.events, {
		dispatch: agents.dispatch,
		close: withCallback(() => agents.close()),
		destroy: withCallback((error) => agents.destroy(error)),
		[Symbol.asyncDispose]: () => agents.close(),
	}) as unknown as AnyDispatcher & ServiceDispatcher;
}

/** What undici's agents emit, and so do dispatchers over them. */
const EVENTS = ['connect', 'disconnect', 'connectionError', 'drain'] as const;

/** An agent for each instance, and one for what is no service. */
class Agents {
	/** The dispatcher itself, which emits what its agents do. */
	readonly events: EventEmitter;
	readonly dispatch: Dispatch;
	readonly #make: () => AnyDispatcher;
	readonly #elsewhere: AnyDispatcher;
	readonly #instances: InstanceResources<AnyDispatcher>;
	/** Undici's clients that have a connection. An agent that is being closed no longer knows its own. */
	readonly #connected = new Set<AnyDispatcher>();
	readonly #services: ServiceDispatch;
	readonly #unlisten: () => void;
	#ended: Promise<void> | undefined;
	#isDestroyed = false;

	constructor(options: DispatcherOptions) {
		const { diplomat } = options;
		const origins = new Origins(options);
		const { Agent, agentOptions } = options;
		const make = Agent === undefined ? fetchAgents() : (given: unknown) => new Agent(given);
		this.#make = () => this.#forward(make(agentOptions));
		this.#elsewhere = this.#make();
		this.events = newBase(this.#elsewhere);
		this.#instances = new InstanceResources({
			diplomat,
			create: this.#make,
			drain: (agent) => this.#close(agent),
		});
		const elsewhere = dispatchOf(this.#elsewhere);
		this.#services = new ServiceDispatch(options, origins, {
			toInstance: ({ query, address }: Lease) => dispatchOf(this.#instances.get(query, address)),
			elsewhere,
		});
		// After the end it is undici that refuses, with its own errors.
		this.dispatch = (request, handler) =>
			this.#ended === undefined ? this.#services.dispatch(request, handler) : elsewhere(request, handler);
		this.#unlisten = listen();
		void diplomat.closed.then(this.#unlisten);
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
		await elsewhere;
		this.#unlisten();
	}

	#forward(agent: AnyDispatcher): AnyDispatcher {
		if (!(agent instanceof EventEmitter)) return agent;
		for (const name of EVENTS) agent.on(name, (...args: unknown[]) => this.events.emit(name, ...args));
		// Told with all that the connection belongs to, the client last.
		agent.on('connect', (_origin, targets: AnyDispatcher[]) => {
			for (const client of targets.slice(-1)) this.#connected.add(client);
		});
		agent.on('disconnect', (_origin, targets: AnyDispatcher[]) => {
			for (const client of targets.slice(-1)) this.#connected.delete(client);
		});
		return agent;
	}

	/** Gracefully, if it has not been destroyed. */
	async #close(agent: AnyDispatcher): Promise<void> {
		if (!this.#isDestroyed) await agent.close();
	}
}
