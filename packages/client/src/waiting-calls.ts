import { SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { Call, CallOwner } from './call.ts';
import { DeadlineTimer } from './deadline-timer.ts';

/** The calls made while there is no connection, in their order. Their deadlines run; their number is bounded. */
export class WaitingCalls implements CallOwner {
	readonly #countMax: number;
	readonly #whyNot: () => string;
	readonly #calls = new Set<Call>();
	readonly #deadlines: DeadlineTimer;

	/** `whyNot` says for people why there is no connection. */
	constructor(clock: Clock, countMax: number, whyNot: () => string) {
		this.#countMax = countMax;
		this.#whyNot = whyNot;
		this.#deadlines = new DeadlineTimer(clock, this.#sweep);
	}

	get count(): number {
		return this.#calls.size;
	}

	/** Takes a call, or rejects it OVERLOADED. */
	add(call: Call): void {
		if (this.#calls.size >= this.#countMax) {
			const message = `${call.func}: ${this.#countMax} calls wait for a connection, which is the limit`;
			call.reject(new SpockError('OVERLOADED', message, { details: { func: call.func, waitingMax: this.#countMax } }));
			return;
		}
		call.owner = this;
		this.#calls.add(call);
		this.#deadlines.arm(call.deadlineMs);
	}

	abandon(call: Call): void {
		this.#calls.delete(call);
		if (this.#calls.size === 0) this.#deadlines.clear();
	}

	/** Lets every call go, unsettled, in order. */
	takeAll(): Call[] {
		const calls = [...this.#calls];
		this.#calls.clear();
		this.#deadlines.clear();
		return calls;
	}

	readonly #sweep = (nowMs: number): number => {
		let nextMs: number = Number.POSITIVE_INFINITY;
		for (const call of this.#calls) {
			if (call.deadlineMs <= nowMs) {
				this.#calls.delete(call);
				call.rejectTimeout(`, because ${this.#whyNot()}`);
			} else if (call.deadlineMs < nextMs) nextMs = call.deadlineMs;
		}
		return nextMs;
	};
}
