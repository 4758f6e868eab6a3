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

/** The stored snapshots of services. */
export type ServiceStore = SnapshotStore<ServiceQuery, ServiceSnapshot>;

/** The store of a client in direct mode. */
export function directStore(source: ServiceSource, options: StoreOptions): ServiceStore {
	return new SnapshotStore({ keyOf: queryKey, normalise: normaliseQuery }, new SourceFeed(source), options);
}

/** The views that lookups use: one for each stored snapshot that a lookup has asked for. */
export class ServicePickers {
	readonly #store: ServiceStore;
	readonly #options: PickerSettings;
	readonly #records: InstanceRecords;
	readonly #views = new Map<string, ServicePicker>();

	constructor(store: ServiceStore, options: PickerSettings, records: InstanceRecords) {
		this.#store = store;
		this.#options = options;
		this.#records = records;
		store.swept = () => this.#forgetGone();
	}

	/** The view of a query, if there is one. */
	find(query: string | ServiceQuery): ServicePicker | undefined {
		if (typeof query === 'string') {
			// A name may be spelt as the key of a longer query: it is not valid then, and has no view.
			const view = this.#views.get(query);
			return view?.query.service === query ? view : undefined;
		}
		checkMembers(query);
		return this.#views.get(queryKey(query));
	}

	/** The view of a query, made if necessary; undefined at `subscriptionsMax`, of this client or of its source. */
	open(query: ServiceQuery): ServicePicker | undefined {
		const known = this.#views.get(queryKey(query));
		if (known !== undefined) return known;
		try {
			const stored = this.#store.open(query);
			if (stored === undefined) return undefined;
			const view = new ServicePicker(stored, this.#options, this.#records, () => this.#views.delete(stored.key));
			this.#views.set(stored.key, view);
			return view;
		} catch (error) {
			if (SpockError.is(error, 'OVERLOADED')) return undefined;
			throw error;
		}
	}

	/** The answer of a sidecar or source, with the instances that this client leaves out marked as such. */
	explain(query: ServiceQuery, reply: ExplainReply): ExplainReply {
		const view = this.find(query);
		const spared = view?.spared ?? [];
		// The answer is not validated before: it may be anything.
		if (view === undefined || spared.length === 0 || !Array.isArray(reply?.instances)) return reply;
		const instances = reply.instances.map((reported) => {
			const one = reported?.included === true ? spared.find((other) => isSameInstance(other, reported)) : undefined;
			if (one === undefined) return reported;
			return { ...reported, included: false, reason: `${reported.reason}; ${this.#why(view, one)}` };
		});
		return { ...reply, instances };
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
		this.#records.keepOnly(this.#views.values());
	}
}

/** True for the instance of this name, and at this place as far as that is given. */
function isSameInstance(one: ServiceInstance, { instance, host, port }: Partial<InstanceExplanation>): boolean {
	return one.instance === instance && one.host === (host ?? one.host) && one.port === (port ?? one.port);
}
