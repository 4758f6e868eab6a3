import { type FuncName, funcNames, type PayloadText, SpockError, validateFuncData } from '@spock/protocol';

import type { Call, Handler, Handlers } from './answer.ts';

/** Finds the handler of a request and validates its data. A `Map`, so that names of Object.prototype are unknown funcs. */
export class Dispatcher {
	readonly #handlers: ReadonlyMap<string, Handler<FuncName>>;

	constructor(handlers: Handlers) {
		this.#handlers = new Map(funcNames.map((func) => [func, handlers[func] as Handler<FuncName>]));
	}

	/** True for a function that exists: other names must not become labels of metrics. */
	knows(func: string): boolean {
		return this.#handlers.has(func);
	}

	/** The payload of the reply, or a promise of it. Throws UNKNOWN_FUNC, BAD_REQUEST, and what the handler throws. */
	dispatch(func: string, data: unknown, call: Call): PayloadText | Promise<PayloadText> {
		const handler = this.#handlers.get(func);
		if (handler === undefined) {
			throw new SpockError('UNKNOWN_FUNC', `there is no function ${JSON.stringify(func)}`, { details: { func } });
		}
		return handler(validateFuncData(func as FuncName, data), call);
	}
}
