/** What is not confirmed for so long may not be called live: docs/guide/consul.md, "Services from Consul". */
const UNCONFIRMED_MS = 10_000;
/** It is looked once a second, and a busy machine is slow and not wrong. */
const SLACK_MS = 3000;

/** What a view says of its own age, and whether what it holds is what Consul says now. */
export interface ToldAge {
	readonly isRight: boolean;
	readonly isLive: boolean;
	/** As told; 0 where it is live. */
	readonly ageMs: number;
	/** When the registry confirmed it, in milliseconds since 1970. */
	readonly verifiedAt: number;
}

/**
 * Why a view that differs from Consul breaks what is promised of services that are polled; undefined where it may differ. It may
 * be called live for 10 s after a change, and be older than that if it says so. `changedAt`: when the service changed last, in
 * milliseconds since 1970.
 */
export function brokenPromise(told: ToldAge, changedAt: number): string | undefined {
	const { isRight, isLive, ageMs, verifiedAt } = told;
	if (isRight) return !isLive && ageMs < UNCONFIRMED_MS ? 'it is right, and says that it is old too early' : undefined;
	const sinceMs = Math.round(performance.timeOrigin + performance.now() - changedAt);
	if (isLive)
		return sinceMs > UNCONFIRMED_MS + SLACK_MS ? `it is called live ${sinceMs} ms after the change` : undefined;
	const lateMs = Math.round(verifiedAt - changedAt);
	return lateMs > SLACK_MS ? `it says that it was confirmed ${lateMs} ms after the change` : undefined;
}
