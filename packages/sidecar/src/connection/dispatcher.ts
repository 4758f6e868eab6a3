import { type FuncData, type FuncName, funcNames, SpockError, validateFuncData } from '@spock/protocol';

import type { Handler, Handlers } from './answer.ts';

/** A request whose function exists and whose data is valid: all that is left is to call the handler. */
export interface PreparedRequest {
	readonly func: FuncName;
	readonly data: FuncData<FuncName>;
	readonly timeoutMs: number | undefined;
	readonly handler: Handler<FuncName>;
}

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

	/** Throws UNKNOWN_FUNC and BAD_REQUEST. */
	prepare(func: string, data: unknown, timeoutMs: number | undefined): PreparedRequest {
		const handler = this.#handlers.get(func);
		if (handler === undefined) {
			throw new SpockError('UNKNOWN_FUNC', `there is no function ${JSON.stringify(func)}`, {
				details: { func },
				isStackless: true,
			});
		}
		return { func: func as FuncName, data: validateFuncData(func as FuncName, data), timeoutMs, handler };
	}
}
