import type { ErrorCode, SpockError } from '@spock/protocol';

import type { PathWatch } from './path-watch.ts';
import type { SimProcess } from './sim-process.ts';
import type { WorldContext } from './world-context.ts';

/**
 * A lookup could have been answered if the whole way to the registry was well for so long within its time: for a back-off of at most
 * a second at each of two places and what an answer takes, and for one more place with each further sidecar, in milliseconds.
 */
const ANSWERABLE_MS = 3000;
const ANSWERABLE_MS_PER_HOP = 750;
/** Of its time a sidecar leaves so much for the way back of the reason. */
const WAY_BACK_SHARE = 0.2;

/** What ends a lookup although it may still be answered; any other code is an answer. */
const PASSING: ReadonlySet<ErrorCode> = new Set([
	'TIMEOUT',
	'UNAVAILABLE',
	'NOT_READY',
	'DISCONNECTED',
	'OVERLOADED',
	'INTERNAL',
]);
/** Limits of the app's own client: it has not been asked at all. */
const OWN_LIMITS = ['inFlightMax', 'waitingMax', 'pendingOutputBytesMax', 'subscriptionsMax'];

interface FailedLookup {
	readonly what: string;
	readonly code: ErrorCode;
	readonly startedMs: number;
	readonly dueMs: number;
	readonly stoppedMs: number;
}

/** Lookups of one app that failed: judged at their deadlines, since what is refused early might have been answered later. */
export class WaitedFor {
	readonly #world: WorldContext;
	readonly #process: SimProcess;
	readonly #path: PathWatch;
	readonly #hops: number;
	readonly #failed: FailedLookup[] = [];

	constructor(world: WorldContext, process: SimProcess, path: PathWatch, hops: number) {
		this.#world = world;
		this.#process = process;
		this.#path = path;
		this.#hops = hops;
	}

	/** A lookup that was made then, and had so long, has failed. */
	failed(what: string, { code, details }: SpockError, startedMs: number, timeoutMs: number): void {
		if (!PASSING.has(code) || OWN_LIMITS.some((limit) => limit in details)) return;
		const { stoppedMs } = this.#process;
		this.#failed.push({ what, code, startedMs, dueMs: startedMs + timeoutMs, stoppedMs });
	}

	/** Looks at those whose deadline has passed. */
	audit(): void {
		const { nowMs } = this.#world;
		while (this.#failed[0] !== undefined && this.#failed[0].dueMs <= nowMs) this.#judge(this.#failed.shift());
	}

	#judge(lookup: FailedLookup | undefined): void {
		if (lookup === undefined || lookup.stoppedMs !== this.#process.stoppedMs) return;
		const { what, code, startedMs, dueMs } = lookup;
		const untilMs = dueMs - (dueMs - startedMs) * WAY_BACK_SHARE;
		const wellMs = this.#path.longestWellMs(startedMs, untilMs);
		if (wellMs < ANSWERABLE_MS + (this.#hops - 1) * ANSWERABLE_MS_PER_HOP) return;
		this.#world.fail(
			'what may be answered is waited for',
			`${this.#process.name}: ${what} ended with ${code}, and everything on its way was well for ${wellMs} of its ${dueMs - startedMs} ms`,
		);
	}
}
