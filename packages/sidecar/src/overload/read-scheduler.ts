/** A connection that has had its turn and has more input. */
export interface ScheduledReader {
	takeTurn(): void;
}

/** Runs a callback once the event loop has looked at every socket again: `setImmediate`. */
export type Defer = (callback: () => void) => void;

/**
 * Which connection is read next, in order. One turn for each iteration of the event loop: between two of them every other socket
 * is read, so that however many connections flood, a request of another client waits for one turn and not for all of them.
 */
export class ReadScheduler {
	/** Chunks of input that were handled within a turn, of all connections: whether others had input. */
	reads = 0;
	readonly #defer: Defer;
	readonly #waiting = new Set<ScheduledReader>();
	#deferred = false;

	constructor(defer: Defer) {
		this.#defer = defer;
	}

	/** Schedules a turn, behind those that wait already. */
	schedule(reader: ScheduledReader): void {
		this.#waiting.add(reader);
		this.#arm();
	}

	/** Cancels its turn. */
	cancel(reader: ScheduledReader): void {
		this.#waiting.delete(reader);
	}

	#arm(): void {
		if (this.#deferred || this.#waiting.size === 0) return;
		this.#deferred = true;
		this.#defer(this.#next);
	}

	readonly #next = (): void => {
		this.#deferred = false;
		const [reader] = this.#waiting;
		if (reader === undefined) return;
		this.#waiting.delete(reader);
		this.#arm();
		reader.takeTurn();
	};
}
