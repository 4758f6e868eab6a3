import type { Random } from '@spock/protocol/internal';

/**
 * How a call to an instance ended. `cancelled`: the caller gave up, or the call was never sent; that is no information about the
 * instance.
 */
export type CallOutcome = 'success' | 'failure' | 'cancelled';

/** Every outcome. */
export const callOutcomes: readonly CallOutcome[] = Object.freeze(['success', 'failure', 'cancelled']);

/** When an instance is ejected, and for how long. */
export interface EjectionRules {
	/** Failures in a row that eject an instance; 0: never. */
	readonly ejectAfterFailures: number;
	/** The first time out, in milliseconds; it doubles each time that the instance fails again right after. */
	readonly ejectionMsMin: number;
	/** The limit of the doubling. */
	readonly ejectionMsMax: number;
}

/** In this time the memory of a slow call fades to 1/e: as in Finagle's peak EWMA, https://twitter.github.io/finagle/guide/Clients.html */
export const LATENCY_DECAY_MS = 10_000;
/** Times out are up to this share longer: clients that ejected an instance together do not come back together. */
const JITTER_SHARE = 0.1;
/** The cost of a call to an instance that is tried and has not answered yet, so that others are preferred meanwhile. */
const UNKNOWN_COST_MS = 1000;

/**
 * The record of the calls to one instance: how many are in flight, how long they take, and whether they fail. Pure: the time is
 * an argument. An instance that comes back from an ejection is on trial: its first failure ejects it again.
 */
export class InstanceRecord {
	/** Calls in flight. */
	inFlight = 0;
	#latencyMs = 0;
	#latencyAtMs = 0;
	#failures = 0;
	#ejections = 0;
	#ejectedAtMs = 0;
	#ejectedUntilMs = Number.NEGATIVE_INFINITY;

	/** Until when it is out, on the clock of `report`; in the past if it is not. */
	get ejectedUntilMs(): number {
		return this.#ejectedUntilMs;
	}

	/** Failures in a row. */
	get failures(): number {
		return this.#failures;
	}

	/** How often it was ejected, each time soon after the time before. */
	get ejections(): number {
		return this.#ejections;
	}

	/** Takes the end of a call into account; true if that ejects the instance. */
	report(outcome: CallOutcome, durationMs: number, nowMs: number, rules: EjectionRules, random: Random): boolean {
		if (outcome === 'cancelled') return false;
		const isSuccess = outcome === 'success';
		// A connection that is refused at once is not a fast answer; a time-out is a slow one, however slow the calls of long ago were.
		if (isSuccess || durationMs > this.#fadedMs(nowMs)) this.#learn(durationMs, nowMs);
		// Calls that were under way when it was ejected still end, one way or the other: it stays on trial.
		if (nowMs < this.#ejectedUntilMs) return false;
		if (isSuccess) this.#failures = 0;
		if (isSuccess || rules.ejectAfterFailures === 0) return false;
		this.#failures++;
		if (this.#failures < rules.ejectAfterFailures) return false;
		this.#eject(nowMs, rules, random);
		return true;
	}

	/** Forgets failures and ejections, because the registry reports a new instance, or a healthy one again. */
	forgive(): void {
		this.#failures = 0;
		this.#ejections = 0;
		this.#ejectedUntilMs = Number.NEGATIVE_INFINITY;
	}

	/** What one call more would cost, in milliseconds: the latency, which fades, for it and each that is under way. */
	cost(nowMs: number): number {
		if (this.#latencyMs === 0) return this.inFlight === 0 ? 0 : UNKNOWN_COST_MS + this.inFlight;
		return this.#fadedMs(nowMs) * (this.inFlight + 1);
	}

	#fadedMs(nowMs: number): number {
		return this.#latencyMs * keptShare(nowMs - this.#latencyAtMs);
	}

	/** A slower call counts at once, faster ones by and by. */
	#learn(durationMs: number, nowMs: number): void {
		const newShare = 1 - keptShare(nowMs - this.#latencyAtMs);
		this.#latencyMs = Math.max(durationMs, this.#fadedMs(nowMs) + durationMs * newShare);
		this.#latencyAtMs = nowMs;
	}

	#eject(nowMs: number, { ejectionMsMin, ejectionMsMax }: EjectionRules, random: Random): void {
		// Since it came back it has done well for as long as it had been out.
		if (nowMs - this.#ejectedUntilMs > this.#ejectedUntilMs - this.#ejectedAtMs) this.#ejections = 0;
		const plainMs = Math.min(ejectionMsMax, ejectionMsMin * 2 ** this.#ejections);
		this.#ejections++;
		this.#ejectedAtMs = nowMs;
		this.#ejectedUntilMs = nowMs + Math.round(plainMs * (1 + random() * JITTER_SHARE));
	}
}

function keptShare(passedMs: number): number {
	return Math.exp(-passedMs / LATENCY_DECAY_MS);
}
