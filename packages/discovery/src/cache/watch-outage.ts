import type { SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { DiscoveryListener, WatchedQuery } from '../foundation/discovery-event.ts';

/** What a {@link WatchOutage} needs. */
export interface WatchOutageContext<Q> {
	readonly clock: Clock;
	readonly kind: { describe(query: Q): WatchedQuery };
	readonly onEvent: DiscoveryListener;
}

/** Since when the watch of one query fails; reports the first failure and the first good answer after it. */
export class WatchOutage<Q> {
	readonly #query: Q;
	readonly #context: WatchOutageContext<Q>;
	#sinceMs: number | undefined;

	constructor(query: Q, context: WatchOutageContext<Q>) {
		this.#query = query;
		this.#context = context;
	}

	/** `isServed`: a last known answer is served meanwhile. */
	failed(error: SpockError, isServed: boolean): void {
		if (this.#sinceMs !== undefined) return;
		const { clock, kind, onEvent } = this.#context;
		this.#sinceMs = clock.now();
		onEvent({ type: 'watch-failed', query: kind.describe(this.#query), error, isServed });
	}

	/** The registry has answered. */
	ended(): void {
		if (this.#sinceMs === undefined) return;
		const { clock, kind, onEvent } = this.#context;
		const outageMs = clock.now() - this.#sinceMs;
		onEvent({ type: 'watch-recovered', query: kind.describe(this.#query), outageMs });
		this.#sinceMs = undefined;
	}
}
