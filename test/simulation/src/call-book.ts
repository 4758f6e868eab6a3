import { type ErrorCode, SpockError } from '@spock/protocol';

import type { SimProcess } from './sim-process.ts';
import type { WorldContext } from './world-context.ts';

/** The timers' resolution: deadlines are swept every 5 ms, and a call may be swept twice and rounded once. */
const RESOLUTION_MS = 15;

/** One call as its caller sees it. */
export interface CallTerms<T> {
	readonly what: string;
	/** When it must be settled, after it was made. */
	readonly timeoutMs: number;
	/** Looks at the answer. */
	readonly answered: (value: T) => void;
	/** Codes that it may reject with. */
	readonly mayFail: (code: ErrorCode, error: SpockError) => boolean;
	/** Notified of the error of a lookup, and when it was made. Default: it is no lookup, or may fail early. */
	readonly failed?: (error: SpockError, startedMs: number) => void;
}

interface OpenCall {
	readonly what: string;
	readonly startedMs: number;
	readonly dueMs: number;
	/** How long the process had been stopped before. */
	readonly stoppedMs: number;
}

/** Every call of one process that is not settled, and when it must be. */
export class CallBook {
	readonly #world: WorldContext;
	readonly #process: SimProcess;
	readonly #open = new Set<OpenCall>();

	constructor(world: WorldContext, process: SimProcess) {
		this.#world = world;
		this.#process = process;
	}

	get open(): number {
		return this.#open.size;
	}

	/** Makes a call and looks at what comes of it. */
	call<T>({ what, timeoutMs, answered, mayFail, failed }: CallTerms<T>, make: () => Promise<T>): void {
		const world = this.#world;
		world.counts.calls++;
		const call: OpenCall = {
			what,
			startedMs: world.nowMs,
			dueMs: world.nowMs + timeoutMs + RESOLUTION_MS,
			stoppedMs: this.#process.stoppedMs,
		};
		this.#open.add(call);
		make().then(
			(value) => {
				this.#settled(call);
				if (this.#process.isAlive) answered(value);
			},
			(error: unknown) => {
				this.#settled(call);
				if (SpockError.is(error)) failed?.(error, call.startedMs);
				if (SpockError.is(error) && mayFail(error.code, error)) return;
				world.fail(
					'errors are those that may come',
					`${this.#process.name}: ${what} failed: ${String((error as Error)?.stack)}`,
				);
			},
		);
	}

	/** Calls that are past their time. */
	audit(): void {
		for (const call of this.#open) if (this.#isLate(call)) this.#fail(call);
	}

	/** No call is left when the client has ended. */
	auditEnd(): void {
		for (const call of this.#open) this.#fail(call);
	}

	#settled(call: OpenCall): void {
		this.#open.delete(call);
		this.#world.counts.settled++;
		if (this.#process.isAlive && this.#isLate(call)) this.#fail(call);
	}

	#isLate({ dueMs, stoppedMs }: OpenCall): boolean {
		return this.#world.nowMs > dueMs + this.#process.stoppedMs - stoppedMs;
	}

	#fail({ what, startedMs, dueMs }: OpenCall): void {
		const { nowMs } = this.#world;
		const text = `made ${(nowMs - startedMs).toFixed(3)} ms ago, due ${(nowMs - dueMs).toFixed(3)} ms ago`;
		this.#world.fail('settles once and in time', `${this.#process.name}: ${what} is not settled: ${text}`);
	}
}
