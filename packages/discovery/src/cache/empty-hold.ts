import type { HoldStatus, SnapshotState } from '@spock/protocol';
import type { Clock, TimerHandle } from '@spock/protocol/internal';

import type { DiscoveryListener } from '../foundation/discovery-event.ts';
import type { AnswerKind } from './answer-kind.ts';

/** Most parts of one answer that this process deregisters at once and remembers. */
const LEAVING_MAX = 256;

/** How a hold ended: the instances are back, they are gone, the registry failed, or no client asks any more. */
export type HoldOutcome = 'returned' | 'emptied' | 'failed' | 'dropped';

/** What an {@link EmptyHold} needs. */
export interface EmptyHoldContext<Q, V extends readonly unknown[]> {
	readonly clock: Clock;
	/** How long an empty answer after one with instances is held back, in milliseconds; 0 to believe it at once. */
	readonly emptyHoldMs: number;
	readonly kind: Pick<AnswerKind<Q, V, SnapshotState>, 'describe' | 'trustsEmpty' | 'consistsOf' | 'explainEmpty'>;
	readonly onEvent: DiscoveryListener;
}

interface Hold {
	readonly sinceMs: number;
	/** When the hold became due; undefined before. */
	dueAtMs: number | undefined;
	timer: TimerHandle | undefined;
	endAsking: (() => void) | undefined;
}

/**
 * The hold of one empty answer: whether it is held back, since when, until when, and what may explain it meanwhile. Instances that this
 * process has just deregistered itself are not held.
 */
export class EmptyHold<Q, V extends readonly unknown[]> {
	readonly #query: Q;
	readonly #context: EmptyHoldContext<Q, V>;
	readonly #clock: Clock;
	readonly #holdMs: number;
	/** What this process is deregistering, and until when an empty answer is believed for that. */
	readonly #leaving = new Map<string, number>();
	#hold: Hold | undefined;

	constructor(query: Q, context: EmptyHoldContext<Q, V>) {
		this.#query = query;
		this.#context = context;
		this.#clock = context.clock;
		this.#holdMs = context.emptyHoldMs;
	}

	/** True if this answer must not replace the served value. */
	isDue(served: V, answered: V): boolean {
		if (answered.length > 0 || served.length === 0 || this.#holdMs === 0) return false;
		return !this.#context.kind.trustsEmpty(this.#query) && !this.isExpected(served);
	}

	/** This process is deregistering a part of the served value. */
	expectGone(part: string): void {
		const nowMs = this.#clock.now();
		for (const [name, untilMs] of this.#leaving) if (untilMs <= nowMs) this.#leaving.delete(name);
		if (this.#leaving.size < LEAVING_MAX) this.#leaving.set(part, nowMs + this.#holdMs);
	}

	/** True if this process has just deregistered everything that is served. */
	isExpected(served: V): boolean {
		if (this.#leaving.size === 0) return false;
		const names = new Set<string>();
		for (const [name, untilMs] of this.#leaving) if (this.#clock.now() < untilMs) names.add(name);
		return this.#context.kind.consistsOf(served, names);
	}

	/**
	 * Starts a hold of `count` parts. Calls `due` when its time is over, and `explained` if the answer has an explanation other than a
	 * registry that lost its data.
	 */
	start(count: number, due: () => void, explained: () => void): void {
		const { kind, onEvent } = this.#context;
		onEvent({ type: 'held', query: kind.describe(this.#query), count, holdMs: this.#holdMs });
		const hold: Hold = { sinceMs: this.#clock.now(), dueAtMs: undefined, timer: undefined, endAsking: undefined };
		this.#hold = hold;
		this.#arm(hold, this.#holdMs, () => {
			hold.dueAtMs = this.#clock.now();
			due();
		});
		const endAsking = kind.explainEmpty(this.#query, explained);
		// The hold may have been explained, and ended, before that returned.
		if (this.#hold !== hold) endAsking?.();
		else hold.endAsking = endAsking;
	}

	/** True after twice the time of the hold. */
	get isLong(): boolean {
		return this.#longInMs <= 0;
	}

	/** Calls this once when `isLong` becomes true, unless the hold ends before. */
	onLong(notify: () => void): void {
		const hold = this.#hold;
		if (hold !== undefined && hold.timer === undefined) this.#arm(hold, this.#longInMs, notify);
	}

	end(outcome: HoldOutcome): void {
		const hold = this.#hold;
		if (hold === undefined) return;
		this.#hold = undefined;
		this.#clock.clearTimeout(hold.timer);
		hold.endAsking?.();
		const heldMs = this.#clock.now() - hold.sinceMs;
		const { kind, onEvent } = this.#context;
		onEvent({ type: 'hold-ended', query: kind.describe(this.#query), outcome, heldMs });
	}

	/** Null while nothing is held. */
	status(): HoldStatus | null {
		if (this.#hold === undefined) return null;
		const forMs = this.#clock.now() - this.#hold.sinceMs;
		return { forMs, endsInMs: Math.max(0, this.#holdMs - forMs) };
	}

	get #longInMs(): number {
		const nowMs = this.#clock.now();
		return (this.#hold?.dueAtMs ?? nowMs) + this.#holdMs - nowMs;
	}

	#arm(hold: Hold, delayMs: number, act: () => void): void {
		hold.timer = this.#clock.setTimeout(() => {
			hold.timer = undefined;
			act();
		}, delayMs);
		hold.timer.unref?.();
	}
}
