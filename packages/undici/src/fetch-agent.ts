import { EventEmitter } from 'node:events';

import { forwardEvents } from './dispatcher-base.ts';
import type { AnyAgentClass, AnyDispatcher } from './undici-types.ts';

/** Undici 8 and later keep the dispatcher of `fetch` here (https://github.com/nodejs/undici/blob/main/lib/global.js). */
const CURRENT = Symbol.for('undici.globalDispatcher.2');
/** Earlier ones keep it here; where an 8 was loaded first, it is one that takes their handlers. */
const LEGACY = Symbol.for('undici.globalDispatcher.1');

/**
 * What makes agents for the fetch that is built into Node. Their class is nowhere exported, but is that of the dispatcher
 * which fetch uses by itself; that one is only looked at, now. Throws a TypeError where the app has put another kind there.
 */
export function fetchAgents(): (agentOptions: unknown) => AnyDispatcher {
	// Node loads its undici when something of it is touched first.
	void globalThis.Response;
	const { [CURRENT]: current, [LEGACY]: legacy } = globalThis as unknown as Record<symbol, object | undefined>;
	const isLegacy = Number.parseInt(process.versions['undici'] ?? '', 10) < 8;
	const Used = classOf(isLegacy ? legacy : current);
	if (Used?.name === 'Agent') return (agentOptions) => new Used(agentOptions);
	// An undici 8 of npm was loaded before Node's own, and put a class here that takes the handlers of Node's older fetch.
	const Newer = classOf(current);
	if (Used?.name === 'Dispatcher1Wrapper' && Newer?.name === 'Agent') {
		return (agentOptions) => {
			const newer = new Newer(agentOptions);
			const agent = new Used(newer);
			// What stands around it does not emit what it does.
			if (agent instanceof EventEmitter) forwardEvents(newer, agent);
			return agent;
		};
	}
	throw new TypeError(
		`the global dispatcher of fetch is a ${Used?.name}, not the Agent of Node: ` +
			'create this dispatcher before replacing the global one, or give the option Agent',
	);
}

function classOf(dispatcher: object | undefined): AnyAgentClass | undefined {
	return dispatcher?.constructor as AnyAgentClass | undefined;
}
