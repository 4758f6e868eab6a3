import { EventEmitter } from 'node:events';
import { runInThisContext } from 'node:vm';

/**
 * What this package needs to know of undici, in its own words: nothing here is bound to one of undici's versions, of which
 * a process may have two, that of the built-in fetch and that of npm.
 */
export interface DispatchOptions {
	readonly origin?: string | URL;
	readonly path: string;
	readonly method: string;
	readonly body?: unknown;
	readonly headers?: unknown;
	readonly servername?: string | null;
	readonly upgrade?: unknown;
	/** Not undici's dispatchers look at it but its `request`, which leaves it among the options. */
	readonly signal?: unknown;
}

/** The handler of a request: with the names of undici 7 and 8, or those of 6, or both. */
export interface DispatchHandler {
	onResponseError?(controller: unknown, error: unknown): void;
	onError?(error: unknown): void;
}

/** Starts a request. False: it was taken, but the next one had better wait for the event `drain`. */
export type Dispatch = (options: DispatchOptions, handler: DispatchHandler) => boolean;

/** The `dispatch` of any version of undici. */
export type AnyDispatch = (options: never, handler: never) => boolean;

/** The dispatchers of any version of undici. */
export interface AnyDispatcher {
	dispatch: AnyDispatch;
	close(): Promise<void>;
	destroy(error?: Error | null): Promise<void>;
}

/** The class `Agent` of any version of undici. */
// biome-ignore lint/suspicious/noExplicitAny: the options are those of the version that is given.
export type AnyAgentClass = new (options?: any) => AnyDispatcher;

/**
 * A new object of undici's class `Dispatcher`, from which the agent's class comes: it has `compose`, and `request` and
 * `stream` with npm's, of just that version. What it cannot do is to dispatch. Throws a TypeError for another's agent.
 */
export function newBase(agent: AnyDispatcher): EventEmitter {
	let prototype: object | null = Object.getPrototypeOf(agent);
	while (prototype !== null && !Object.hasOwn(prototype, 'compose')) prototype = Object.getPrototypeOf(prototype);
	const base: unknown = prototype === null ? undefined : new (prototype.constructor as new () => unknown)();
	if (!(base instanceof EventEmitter)) throw new TypeError('Agent must be the class Agent of undici 6, 7 or 8');
	return base;
}

/** What undici's agents emit, and so do dispatchers over them. */
const EVENTS = ['connect', 'disconnect', 'connectionError', 'drain'] as const;

/** What one emits, the other does too. */
export function forwardEvents(from: AnyDispatcher, to: EventEmitter): void {
	if (!(from instanceof EventEmitter)) return;
	for (const name of EVENTS) from.on(name, (...args: unknown[]) => to.emit(name, ...args));
}

/** The agent's `dispatch`, bound. */
export function dispatchOf(agent: AnyDispatcher): Dispatch {
	const dispatch = agent.dispatch as Dispatch;
	return (options, handler) => dispatch.call(agent, options, handler);
}

/** Undici 8 and later keep the dispatcher of `fetch` here (https://github.com/nodejs/undici/blob/main/lib/global.js). */
const CURRENT = Symbol.for('undici.globalDispatcher.2');
/** Earlier ones keep it here; where an 8 was loaded first, it is one that takes their handlers. */
const LEGACY = Symbol.for('undici.globalDispatcher.1');

/** Whether the built-in fetch is undici's, whose requests go by a dispatcher: that of Node is, those of Bun and Deno are not. */
export function fetchHasDispatchers(): boolean {
	// Not by the global dispatcher: undici of npm sets one there, too.
	return process.versions['bun'] === undefined && process.versions['deno'] === undefined;
}

/** What makes agents for a fetch. */
export interface AgentMakers {
	/** For the instances of services. */
	readonly instance: (agentOptions: unknown) => AnyDispatcher;
	/** For all else, which may go through a proxy. */
	readonly elsewhere: (agentOptions: unknown) => AnyDispatcher;
}

/**
 * What makes agents for the fetch that is built into Node. Their class is nowhere exported, but is that of the dispatcher
 * which fetch uses by itself; that one is only looked at, now. Throws a TypeError where the app has put another kind there.
 */
export function fetchAgents(): AgentMakers {
	// Where fetch itself looks, also in a context of node:vm: the globals that Jest gives to a test are copies, without what is below.
	const home = runInThisContext('globalThis') as Record<symbol, object | undefined> & { readonly Response?: unknown };
	// Node loads its undici when something of it is touched first.
	void home.Response;
	const { [CURRENT]: current, [LEGACY]: legacy } = home;
	const isLegacy = Number.parseInt(process.versions['undici'] ?? '', 10) < 8;
	const used = isLegacy ? legacy : current;
	const Used = classOf(used);
	if (Used?.name === 'Agent') return both(makerOf(Used));
	if (used !== undefined && Used?.name === 'EnvHttpProxyAgent') {
		const Direct = directClassOf(used);
		// Proxies of the environment (NODE_USE_ENV_PROXY) are not for instances, which are called at their own address.
		if (Direct !== undefined) return { instance: makerOf(Direct), elsewhere: makerOf(Used) };
	}
	// An undici 8 of npm was loaded before Node's own, and put a class here that takes the handlers of Node's older fetch.
	const Newer = classOf(current);
	if (Used?.name === 'Dispatcher1Wrapper' && Newer?.name === 'Agent') {
		return both((agentOptions) => {
			const newer = new Newer(agentOptions);
			const agent = new Used(newer);
			// What stands around it does not emit what it does.
			if (agent instanceof EventEmitter) forwardEvents(newer, agent);
			return agent;
		});
	}
	if (!fetchHasDispatchers()) {
		throw new TypeError('the fetch of this runtime takes no dispatcher: use createFetch, or give the option Agent');
	}
	throw new TypeError(
		`the global dispatcher of fetch is a ${Used?.name}, not the Agent of Node: ` +
			'create this dispatcher before replacing the global one, or give the option Agent',
	);
}

/** The same for instances and for all else. */
export function both(make: AgentMakers['instance']): AgentMakers {
	return { instance: make, elsewhere: make };
}

/** The class of the agent by which an agent of proxies calls what needs none: undici has it in a property without a public name. */
function directClassOf(proxying: object): AnyAgentClass | undefined {
	const members = Object.getOwnPropertySymbols(proxying).map((key) => (proxying as Record<symbol, unknown>)[key]);
	return members.map((member) => classOf(member as object | undefined)).find((one) => one?.name === 'Agent');
}

/** What makes agents of a class. */
export function makerOf(Agent: AnyAgentClass): AgentMakers['instance'] {
	return (agentOptions) => new Agent(agentOptions);
}

function classOf(dispatcher: object | undefined): AnyAgentClass | undefined {
	return dispatcher?.constructor as AnyAgentClass | undefined;
}
