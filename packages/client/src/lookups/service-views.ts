import {
	type ExplainReply,
	normaliseQuery,
	queryKey,
	type ServiceQuery,
	type ServiceSource,
	SpockError,
} from '@spock/protocol';
import { OneTimer } from '../foundation/one-timer.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import type { InstanceRecords } from './instance-records.ts';
import { checkMembers } from './lookup-options.ts';
import { ServiceView } from './service-view.ts';

/** Sweeps that a view outlives without a lookup: it lived through one whole idle time by then. */
const UNUSED_SWEEPS_MAX = 2;

/** The views that lookups use: one for each query, an end for those that are idle, and a maximum. */
export class ServiceViews {
	readonly #source: ServiceSource;
	readonly #options: ResolvedOptions;
	readonly #records: InstanceRecords;
	readonly #views = new Map<string, ServiceView>();
	readonly #sweepTimer: OneTimer;

	constructor(source: ServiceSource, options: ResolvedOptions, records: InstanceRecords) {
		this.#source = source;
		this.#options = options;
		this.#records = records;
		this.#sweepTimer = new OneTimer(options.clock, () => this.#sweep());
	}

	get count(): number {
		return this.#views.size;
	}

	/** The view of a query, if there is one. */
	find(query: string | ServiceQuery): ServiceView | undefined {
		if (typeof query === 'string') {
			// What is asked may be spelt as the key of a longer query: it is not valid then, and has no view.
			const view = this.#views.get(query);
			return view?.query.service === query ? view : undefined;
		}
		checkMembers(query);
		return this.#views.get(queryKey(query));
	}

	/** The view of a query, made if need be; undefined when there are as many as there may be. */
	open(query: ServiceQuery): ServiceView | undefined {
		const key = queryKey(query);
		const known = this.#views.get(key);
		if (known !== undefined) return known;
		if (this.#views.size >= this.#options.subscriptionsMax) return undefined;
		try {
			const view = new ServiceView(this.#source, normaliseQuery(query), this.#options, this.#records);
			this.#views.set(key, view);
			this.#armSweep();
			return view;
		} catch (error) {
			if (SpockError.is(error, 'OVERLOADED')) return undefined;
			throw error;
		}
	}

	/** The answer of a sidecar or source that knows nothing of ejections, with those of this client. */
	explain(query: ServiceQuery, reply: ExplainReply): ExplainReply {
		const view = this.find(query);
		// What a sidecar answers is not looked at before: it may be anything.
		if (view === undefined || this.#records.size === 0 || !Array.isArray(reply?.instances)) return reply;
		const instances = reply.instances.map((told) => {
			const spared = told?.included === true ? view.findSpared(told) : undefined;
			if (spared === undefined) return told;
			const record = this.#records.find(view.query, spared);
			const leftMs = Math.round((record?.ejectedUntilMs ?? 0) - this.#options.clock.now());
			const reason = `${told.reason}; ejected by this client: ${record?.failures} calls in a row failed, back in ${leftMs} ms`;
			return { ...told, included: false, reason };
		});
		return { ...reply, instances };
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
		this.#forgetGone();
		if (this.#views.size > 0) this.#armSweep();
	}

	/** What calls told of an instance is kept for as long as a view has it. */
	#forgetGone(): void {
		if (this.#records.size === 0) return;
		this.#records.keepOnly(this.#views.values());
	}
}
