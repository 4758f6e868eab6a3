import { explainPlan } from '@spock/balancer';
import {
	type ExplainReply,
	type InstanceExplanation,
	normaliseQuery,
	queryKey,
	type ServiceInstance,
	type ServiceQuery,
	type ServiceSnapshot,
	type ServiceSource,
	SpockError,
} from '@spock/protocol';
import { SnapshotStore, SourceFeed, type StoreOptions } from '../snapshots/snapshot-store.ts';
import type { InstanceRecords } from './instance-records.ts';
import { checkMembers } from './lookup-options.ts';
import { isCallable, type PickerSettings, ServicePicker } from './service-picker.ts';
import type { WorkPlanner } from './work-planner.ts';

/** The stored snapshots of services. */
export type ServiceStore = SnapshotStore<ServiceQuery, ServiceSnapshot>;

/** The store of a client in direct mode. */
export function directStore(source: ServiceSource, options: StoreOptions): ServiceStore {
	return new SnapshotStore({ keyOf: queryKey, normalise: normaliseQuery }, new SourceFeed(source), options);
}

/** The pickers that lookups use: one for each stored snapshot that a lookup has asked for. */
export class ServicePickers {
	readonly #store: ServiceStore;
	readonly #options: PickerSettings;
	readonly #records: InstanceRecords;
	readonly #planner: WorkPlanner;
	readonly #pickers = new Map<string, ServicePicker>();

	constructor(store: ServiceStore, options: PickerSettings, records: InstanceRecords, planner: WorkPlanner) {
		this.#store = store;
		this.#options = options;
		this.#records = records;
		this.#planner = planner;
		store.swept = () => this.#forgetGone();
	}

	/** The picker of a query, if there is one. */
	find(query: string | ServiceQuery): ServicePicker | undefined {
		if (typeof query === 'string') {
			// A name may be spelt as the key of a longer query: it is not valid then, and has no picker.
			const picker = this.#pickers.get(query);
			return picker?.query.service === query ? picker : undefined;
		}
		checkMembers(query);
		return this.#pickers.get(queryKey(query));
	}

	/**
	 * The picker of a query, made if necessary for a caller that waits for `waitMs`; undefined at `subscriptionsMax`, of this client or of
	 * its source.
	 */
	open(query: ServiceQuery, waitMs?: number): ServicePicker | undefined {
		const known = this.#pickers.get(queryKey(query));
		if (known !== undefined) return known;
		try {
			const stored = this.#store.open(query, waitMs);
			if (stored === undefined) return undefined;
			const ended = (): boolean => this.#pickers.delete(stored.key);
			const picker = new ServicePicker(stored, this.#options, this.#records, this.#planner, ended);
			this.#pickers.set(stored.key, picker);
			return picker;
		} catch (error) {
			if (SpockError.is(error, 'OVERLOADED')) return undefined;
			throw error;
		}
	}

	/** The answer of a sidecar or source, with the instances marked as such that get no work of this client, and why. */
	explain(query: ServiceQuery, reply: ExplainReply): ExplainReply {
		// The answer is not validated before: it may be anything.
		if (!Array.isArray(reply?.instances)) return reply;
		const picker = this.find(query);
		const spared = picker?.spared ?? [];
		const explained = reply.instances.map((reported) => {
			const one = reported?.included === true ? spared.find((other) => isSameInstance(other, reported)) : undefined;
			if (picker === undefined || one === undefined) return reported;
			return { ...reported, included: false, reason: `${reported.reason}; ${this.#why(picker, one)}` };
		});
		return { ...reply, instances: this.#withShares(query, reply, explained, picker) };
	}

	/** What zones and subsets make of the instances that are served. A sidecar of an earlier version does not name their zones. */
	#withShares(
		query: ServiceQuery,
		{ panic }: ExplainReply,
		explained: readonly InstanceExplanation[],
		picker: ServicePicker | undefined,
	): readonly InstanceExplanation[] {
		const zones = new Map(picker?.instances.map(({ instance, zone }) => [instance, zone]));
		const placed = explained.map((one) => ({ ...one, zone: one?.zone ?? zones.get(one?.instance) ?? null }));
		const serving = placed.filter(isPlannable);
		const snapshot = { instances: placed, ...(panic && { panic }) };
		const ignored = this.#planner.ignored(query, snapshot, serving);
		const share = explainPlan(this.#planner.plan(query, snapshot, serving));
		return explained.map((one, index) => {
			const planned = placed[index] as (typeof placed)[number];
			if (!isPlannable(planned)) return one;
			const { included = true, reason = undefined } = share?.(planned) ?? {};
			const reasons = [one.reason, reason, ignored].filter((text) => text !== undefined);
			return { ...one, included, reason: reasons.join('; ') };
		});
	}

	#why({ query }: ServicePicker, one: ServiceInstance): string {
		if (!isCallable(one)) return 'its host or port is unusable';
		const { failures = 0, ejectedUntilMs = 0 } = this.#records.find(query, one) ?? {};
		const leftMs = Math.round(ejectedUntilMs - this.#options.clock.now());
		return `ejected by this client: ${failures} calls in a row failed, back in ${leftMs} ms`;
	}

	/** A record of an instance is kept while a picker has the instance. */
	#forgetGone(): void {
		if (this.#records.size === 0) return;
		this.#records.keepOnly(this.#pickers.values());
	}
}

/** True for an instance that is served, and named. */
function isPlannable({ included, instance }: Pick<Partial<InstanceExplanation>, 'included' | 'instance'>): boolean {
	return included === true && typeof instance === 'string';
}

/** True for the instance of this name, and at this place as far as that is given. */
function isSameInstance(one: ServiceInstance, { instance, host, port }: Partial<InstanceExplanation>): boolean {
	return one.instance === instance && one.host === (host ?? one.host) && one.port === (port ?? one.port);
}
