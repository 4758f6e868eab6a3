import type { Call, Caller } from './answer.ts';

/** A call whose abort signal is made only when its handler asks for it: most are answered before anybody could cancel. */
export class RequestCall implements Call {
	readonly caller: Caller;
	readonly timeoutMs: number | undefined;
	#controller: AbortController | undefined;

	constructor(caller: Caller, timeoutMs: number | undefined) {
		this.caller = caller;
		this.timeoutMs = timeoutMs;
	}

	get controller(): AbortController {
		this.#controller ??= new AbortController();
		return this.#controller;
	}

	get signal(): AbortSignal {
		return this.controller.signal;
	}
}
