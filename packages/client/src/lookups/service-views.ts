import {
	type ExplainReply,
	type InstanceExplanation,
	normaliseQuery,
	queryKey,
	type ServiceInstance,
	type ServiceQuery,
	type ServiceSource,
	SpockError,
} from '@spock/protocol';
import { OneTimer } from '../foundation/one-timer.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import type { InstanceRecords } from './instance-records.ts';
import { checkMembers } from './lookup-options.ts';
import { isCallable, ServiceView } from './service-view.ts';

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

	/** The answer of a sidecar or source that knows nothing of whom this client leaves out, with those. */
	explain(query: ServiceQuery, reply: ExplainReply): ExplainReply {
		const view = this.find(query);
		const spared = view?.spared ?? [];
		// What a sidecar answers is not looked at before: it may be anything.
		if (view === undefined || spared.length === 0 || !Array.isArray(reply?.instances)) return reply;
		const instances = reply.instances.map((told) => {
			const one = told?.included === true ? spared.find((other) => isTold(other, told)) : undefined;
			return one === undefined ? told : { ...told, included: false, reason: `${told.reason}; ${this.#why(view, one)}` };
		});
		return { ...reply, instances };
	}

	#why({ query }: ServiceView, one: ServiceInstance): string {
		if (!isCallable(one)) return 'its host or port is none';
		const { failures = 0, ejectedUntilMs = 0 } = this.#records.find(query, one) ?? {};
		const leftMs = Math.round(ejectedUntilMs - this.#options.clock.now());
		return `ejected by this client: ${failures} calls in a row failed, back in ${leftMs} ms`;
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

/** True for the instance of this name, and at this place as far as that is told. */
function isTold(one: ServiceInstance, { instance, host, port }: Partial<InstanceExplanation>): boolean {
	return one.instance === instance && one.host === (host ?? one.host) && one.port === (port ?? one.port);
}
