import type { Clock } from '@spock/protocol/internal';
import { overloadedError } from '../foundation/errors.ts';
import { DeadlineTimer, type IsDue } from '../foundation/timers.ts';
import type { CallOwner, OutgoingCall } from './outgoing-call.ts';

/** Sorts calls in place by when they were made: the sidecar must receive the newest last. */
export function inOrder(calls: OutgoingCall[]): OutgoingCall[] {
	return calls.sort((left, right) => left.order - right.order);
}

/** Calls that cannot be sent yet, because there is no connection or its window is full, in their order. Their deadlines run; their number is bounded. */
export class CallQueue implements CallOwner {
	readonly #countMax: number;
	readonly #whyNot: () => string;
	readonly #calls = new Set<OutgoingCall>();
	readonly #deadlines: DeadlineTimer;

	/** `whyNot` returns, for people, why they cannot be sent. */
	constructor(clock: Clock, countMax: number, whyNot: () => string) {
		this.#countMax = countMax;
		this.#whyNot = whyNot;
		this.#deadlines = new DeadlineTimer(clock, this.#sweep);
	}

	get count(): number {
		return this.#calls.size;
	}

	/** Takes a call, or rejects it OVERLOADED. */
	add(call: OutgoingCall): void {
		if (this.#calls.size >= this.#countMax) {
			call.reject(overloadedError(call.func, 'waitingMax', this.#countMax));
			return;
		}
		call.owner = this;
		this.#calls.add(call);
		this.#deadlines.arm(call.deadlineMs);
	}

	abandon(call: OutgoingCall): void {
		this.#calls.delete(call);
		if (this.#calls.size === 0) this.#deadlines.clear();
	}

	/** Releases the oldest call, unsettled; undefined if none waits. */
	takeFirst(): OutgoingCall | undefined {
		const [first] = this.#calls;
		if (first !== undefined) this.abandon(first);
		return first;
	}

	/** Releases every call, unsettled, in the order in which they were made: those of a lost connection are older than others here. */
	takeAll(): OutgoingCall[] {
		const calls = inOrder([...this.#calls]);
		this.#calls.clear();
		this.#deadlines.clear();
		return calls;
	}

	readonly #sweep = (isDue: IsDue): void => {
		// Once for all of them: the reason is looked for in the file system.
		let why: string | undefined;
		for (const call of this.#calls) {
			if (!isDue(call.deadlineMs)) continue;
			this.#calls.delete(call);
			why ??= this.#whyNot();
			call.rejectTimeout(why);
		}
	};
}
