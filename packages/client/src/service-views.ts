import { normaliseQuery, queryKey, type ServiceQuery, type ServiceSource, SpockError } from '@spock/protocol';
import type { TimerHandle } from '@spock/protocol/internal';

import type { ResolvedOptions } from './options.ts';
import { ServiceView } from './service-view.ts';

/** Sweeps in a row without a lookup after which a view ends: it lived through one whole idle time by then. */
const UNUSED_SWEEPS_MAX = 2;

interface Entry {
	readonly view: ServiceView;
	unusedSweeps: number;
}

/** The views that lookups use: one for each query, an end for those that are idle, and a maximum. */
export class ServiceViews {
	readonly #source: ServiceSource;
	readonly #options: ResolvedOptions;
	readonly #entries = new Map<string, Entry>();
	#sweepTimer: TimerHandle | undefined;

	constructor(source: ServiceSource, options: ResolvedOptions) {
		this.#source = source;
		this.#options = options;
	}

	get count(): number {
		return this.#entries.size;
	}

	/** The view of a query, if there is one. */
	find(query: string | ServiceQuery): ServiceView | undefined {
		return this.#entries.get(typeof query === 'string' ? query : queryKey(query))?.view;
	}

	/** The view of a query, made if need be; undefined when there are as many as there may be. */
	open(query: ServiceQuery): ServiceView | undefined {
		const key = queryKey(query);
		const known = this.#entries.get(key);
		if (known !== undefined) return known.view;
		if (this.#entries.size >= this.#options.subscriptionsMax) return undefined;
		try {
			const view = new ServiceView(this.#source, normaliseQuery(query), this.#options);
			this.#entries.set(key, { view, unusedSweeps: 0 });
			this.#armSweep();
			return view;
		} catch (error) {
			if (SpockError.is(error, 'OVERLOADED')) return undefined;
			throw error;
		}
	}

	close(): void {
		this.#options.clock.clearTimeout(this.#sweepTimer);
		for (const { view } of this.#entries.values()) view.stop();
		this.#entries.clear();
	}

	#armSweep(): void {
		if (this.#sweepTimer !== undefined) return;
		const { clock, idleSubscriptionMs } = this.#options;
		this.#sweepTimer = clock.setTimeout(this.#sweep, Math.ceil(idleSubscriptionMs / UNUSED_SWEEPS_MAX));
		this.#sweepTimer.unref?.();
	}

	readonly #sweep = (): void => {
		this.#sweepTimer = undefined;
		for (const [key, entry] of this.#entries) {
			if (entry.view.used) {
				entry.view.used = false;
				entry.unusedSweeps = 0;
			} else if (++entry.unusedSweeps >= UNUSED_SWEEPS_MAX) {
				this.#entries.delete(key);
				entry.view.stop();
			}
		}
		if (this.#entries.size > 0) this.#armSweep();
	};
}
