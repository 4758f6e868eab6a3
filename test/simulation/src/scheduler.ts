import type { Trace } from './trace.ts';

// Taken before anything is forbidden to take it: see `forbidden.ts`.
const nextTurn = setImmediate;
/** Turns of the event loop that are asked for at once: each event has one, and promises settle between them. */
const TURNS = 64;

/** Whose events they are: those of a process that is dead are lost, those of a stopped one wait. */
export interface EventOwner {
	readonly id: number;
	readonly isAlive: boolean;
	readonly isStopped: boolean;
	/** Takes an event that came while the process is stopped. */
	defer(event: SimEvent): void;
}

/** Something that is due. */
export interface SimEvent {
	atMs: number;
	order: number;
	readonly kind: string;
	/** Undefined for the world itself. */
	readonly owner: EventOwner | undefined;
	readonly run: () => void;
	isCancelled: boolean;
}

/** The only clock there is: events in the order of their times, each with all the promises that it settles. */
export class Scheduler {
	readonly trace: Trace;
	#nowMs = 0;
	#order = 0;
	#executed = 0;
	readonly #heap: SimEvent[] = [];
	/** Looked at after every event: what went wrong while nobody could be told. */
	fault: Error | undefined;
	#running: EventOwner | undefined;

	constructor(trace: Trace) {
		this.trace = trace;
	}

	/** Virtual milliseconds since the start of the run. */
	get nowMs(): number {
		return this.#nowMs;
	}

	/** Whose event happens now, with all the promises that it settles; undefined for the world. */
	get running(): EventOwner | undefined {
		return this.#running;
	}

	/** Events that have happened. */
	get executed(): number {
		return this.#executed;
	}

	/** Events that are due, ever: those of the dead never come. */
	get pending(): number {
		return this.#due().length;
	}

	/** Kinds of the events that are due, for people. */
	describePending(): string[] {
		return this.#due().map(({ kind, atMs, owner }) => `${kind} of ${owner?.id ?? 'the world'} at ${atMs.toFixed(3)}`);
	}

	#due(): SimEvent[] {
		return this.#heap.filter(({ isCancelled, owner }) => !isCancelled && owner?.isAlive !== false);
	}

	schedule(delayMs: number, kind: string, owner: EventOwner | undefined, run: () => void): SimEvent {
		return this.at(this.#nowMs + Math.max(0, delayMs), kind, owner, run);
	}

	at(atMs: number, kind: string, owner: EventOwner | undefined, run: () => void): SimEvent {
		const event = { atMs: Math.max(this.#nowMs, atMs), order: this.#order++, kind, owner, run, isCancelled: false };
		this.#push(event);
		return event;
	}

	cancel(event: SimEvent | undefined): void {
		if (event !== undefined) event.isCancelled = true;
	}

	/** An event that was deferred is due now, or so much later. */
	again(event: SimEvent, delayMs = 0): void {
		event.isCancelled = false;
		event.atMs = this.#nowMs + delayMs;
		event.order = this.#order++;
		this.#push(event);
	}

	/** Runs what is due until this time. Rejects with what an event throws, or with `fault`. */
	runUntil(untilMs: number): Promise<void> {
		return new Promise((resolve, reject) => {
			let isOver = false;
			const turn = (): void => {
				if (isOver) return;
				try {
					if (this.fault !== undefined) throw this.fault;
					if (this.#step(untilMs)) return;
					isOver = true;
					resolve();
				} catch (error) {
					isOver = true;
					reject(error);
				}
			};
			const turns = (): void => {
				if (isOver) return;
				// After each of these Node runs every tick and every promise to its end, without a look at the operating system.
				for (let count = 0; count < TURNS; count++) nextTurn(turn);
				nextTurn(turns);
			};
			turns();
		});
	}

	/** False when nothing is due until then: time has moved on to it. */
	#step(untilMs: number): boolean {
		for (;;) {
			const next = this.#heap[0];
			if (next === undefined || next.atMs > untilMs) {
				this.#nowMs = Math.max(this.#nowMs, untilMs);
				return false;
			}
			this.#pop();
			if (next.isCancelled) continue;
			this.#nowMs = next.atMs;
			const { owner } = next;
			if (owner !== undefined && !owner.isAlive) continue;
			if (owner?.isStopped === true) {
				owner.defer(next);
				continue;
			}
			// What is cancelled from now on is none of the heap's.
			next.isCancelled = true;
			this.#executed++;
			this.trace.mix(Math.round(next.atMs * 1000));
			this.trace.mix((owner?.id ?? 0) * 31 + next.kind.length * 7 + next.kind.charCodeAt(0));
			this.trace.say(next.atMs, () => `${owner === undefined ? 'world' : `process ${owner.id}`}: ${next.kind}`);
			this.#running = owner;
			next.run();
			return true;
		}
	}

	#push(event: SimEvent): void {
		const heap = this.#heap;
		let at = heap.length;
		heap.push(event);
		while (at > 0) {
			const parent = (at - 1) >> 1;
			const above = heap[parent] as SimEvent;
			if (!isSooner(event, above)) break;
			heap[at] = above;
			at = parent;
		}
		heap[at] = event;
	}

	#pop(): void {
		const heap = this.#heap;
		const last = heap.pop() as SimEvent;
		if (heap.length === 0) return;
		let at = 0;
		for (;;) {
			let child = at * 2 + 1;
			if (child >= heap.length) break;
			if (child + 1 < heap.length && isSooner(heap[child + 1] as SimEvent, heap[child] as SimEvent)) child++;
			if (!isSooner(heap[child] as SimEvent, last)) break;
			heap[at] = heap[child] as SimEvent;
			at = child;
		}
		heap[at] = last;
	}
}

function isSooner(left: SimEvent, right: SimEvent): boolean {
	return left.atMs < right.atMs || (left.atMs === right.atMs && left.order < right.order);
}
