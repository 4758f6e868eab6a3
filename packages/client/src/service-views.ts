import { normaliseQuery, queryKey, type ServiceQuery, type ServiceSource, SpockError } from '@spock/protocol';

import { OneTimer } from './one-timer.ts';
import type { ResolvedOptions } from './options.ts';
import { ServiceView } from './service-view.ts';

/** Sweeps that a view outlives without a lookup: it lived through one whole idle time by then. */
const UNUSED_SWEEPS_MAX = 2;

/** The views that lookups use: one for each query, an end for those that are idle, and a maximum. */
export class ServiceViews {
	readonly #source: ServiceSource;
	readonly #options: ResolvedOptions;
	readonly #views = new Map<string, ServiceView>();
	readonly #sweepTimer: OneTimer;

	constructor(source: ServiceSource, options: ResolvedOptions) {
		this.#source = source;
		this.#options = options;
		this.#sweepTimer = new OneTimer(options.clock, () => this.#sweep());
	}

	get count(): number {
		return this.#views.size;
	}

	/** The view of a query, if there is one. */
	find(query: string | ServiceQuery): ServiceView | undefined {
		return this.#views.get(typeof query === 'string' ? query : queryKey(query));
	}

	/** The view of a query, made if need be; undefined when there are as many as there may be. */
	open(query: ServiceQuery): ServiceView | undefined {
		const key = queryKey(query);
		const known = this.#views.get(key);
		if (known !== undefined) return known;
		if (this.#views.size >= this.#options.subscriptionsMax) return undefined;
		try {
			const view = new ServiceView(this.#source, normaliseQuery(query), this.#options);
			this.#views.set(key, view);
			this.#armSweep();
			return view;
		} catch (error) {
			if (SpockError.is(error, 'OVERLOADED')) return undefined;
			throw error;
		}
	}

	close(): void {
		this.#sweepTimer.cancel();
		for (const view of this.#views.values()) view.stop();
		this.#views.clear();
	}

	#armSweep(): void {
		this.#sweepTimer.arm(Math.ceil(this.#options.idleSubscriptionMs / UNUSED_SWEEPS_MAX));
	}

	#sweep(): void {
		for (const [key, view] of this.#views) {
			if (++view.unusedSweeps <= UNUSED_SWEEPS_MAX) continue;
			this.#views.delete(key);
			view.stop();
		}
		if (this.#views.size > 0) this.#armSweep();
	}
}
