/** Somebody who has had a turn and has more to do. */
export interface TurnTaker {
	takeTurn(): void;
}

/** Runs a callback once the event loop has looked at every socket again: `setImmediate`. */
export type Defer = (callback: () => void) => void;

/**
 * Who waits for the next turn, in order. One turn for each turn of the event loop: between two of them every other socket is
 * read, so that however many connections flood, a request of anybody else waits for one turn and not for all of them.
 */
export class Turns {
	/** Chunks of input that were handled within a turn, of all connections: tells whether others had something to say. */
	reads = 0;
	readonly #defer: Defer;
	readonly #waiting = new Set<TurnTaker>();
	#deferred = false;

	constructor(defer: Defer) {
		this.#defer = defer;
	}

	/** Gives a turn later, behind those who wait already. */
	wait(taker: TurnTaker): void {
		this.#waiting.add(taker);
		this.#arm();
	}

	/** Wants no turn any more. */
	leave(taker: TurnTaker): void {
		this.#waiting.delete(taker);
	}

	#arm(): void {
		if (this.#deferred || this.#waiting.size === 0) return;
		this.#deferred = true;
		this.#defer(this.#next);
	}

	readonly #next = (): void => {
		this.#deferred = false;
		const [taker] = this.#waiting;
		if (taker === undefined) return;
		this.#waiting.delete(taker);
		this.#arm();
		taker.takeTurn();
	};
}
