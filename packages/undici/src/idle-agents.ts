import { type Clock, systemClock, type TimerHandle } from '@spock/protocol/internal';

import type { AnyDispatcher } from './any-undici.ts';

/** How long an agent is kept without a connection and without a request, in milliseconds; at most twice as long. */
export const AGENT_IDLE_MS = 60_000;

/**
 * The agents that have no connection. One that has been given no request for a while either is dropped: where its service
 * cannot be watched, nobody else would say that its instance has left.
 */
export class IdleAgents {
	readonly #drop: (agent: AnyDispatcher) => void;
	readonly #clock: Clock;
	/** When each was last used, by the clock. */
	readonly #usedAtMs = new Map<AnyDispatcher, number>();
	#timer: TimerHandle | undefined;

	constructor(drop: (agent: AnyDispatcher) => void, clock: Clock = systemClock) {
		this.#drop = drop;
		this.#clock = clock;
	}

	/** It has no connection, or none yet. */
	add(agent: AnyDispatcher): void {
		this.#usedAtMs.set(agent, this.#clock.now());
		this.#timer ??= this.#later();
	}

	/** It is given a request. */
	use(agent: AnyDispatcher): void {
		if (this.#usedAtMs.has(agent)) this.#usedAtMs.set(agent, this.#clock.now());
	}

	/** It has a connection, or is none of ours any more. */
	delete(agent: AnyDispatcher): void {
		this.#usedAtMs.delete(agent);
		if (this.#usedAtMs.size > 0) return;
		this.#clock.clearTimeout(this.#timer);
		this.#timer = undefined;
	}

	/** Forgets all. */
	clear(): void {
		for (const agent of this.#usedAtMs.keys()) this.delete(agent);
	}

	#later(): TimerHandle {
		const timer = this.#clock.setTimeout(() => this.#sweep(), AGENT_IDLE_MS);
		timer.unref?.();
		return timer;
	}

	#sweep(): void {
		const usedBeforeMs = this.#clock.now() - AGENT_IDLE_MS;
		for (const [agent, usedAtMs] of this.#usedAtMs) {
			if (usedAtMs > usedBeforeMs) continue;
			this.#usedAtMs.delete(agent);
			this.#drop(agent);
		}
		this.#timer = this.#usedAtMs.size === 0 ? undefined : this.#later();
	}
}
