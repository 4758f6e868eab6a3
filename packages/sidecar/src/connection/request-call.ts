import type { Caller, RequestContext } from './answer.ts';

/** A call that creates its abort signal only on demand: most are answered before they could be cancelled. */
export class RequestCall implements RequestContext {
	readonly caller: Caller;
	readonly timeoutMs: number | undefined;
	/** Its bytes, while it waits, and whose share they are of; 0 for a short one. */
	readonly heldBytes: number;
	heldShare = '';
	#controller: AbortController | undefined;

	constructor(caller: Caller, timeoutMs: number | undefined, heldBytes = 0) {
		this.caller = caller;
		this.timeoutMs = timeoutMs;
		this.heldBytes = heldBytes;
	}

	get controller(): AbortController {
		this.#controller ??= new AbortController();
		return this.#controller;
	}

	get signal(): AbortSignal {
		return this.controller.signal;
	}
}
