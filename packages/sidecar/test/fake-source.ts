import {
	type BackendStatus,
	queryKey,
	type ServiceInstance,
	type ServiceList,
	type ServiceQuery,
	type ServiceSnapshot,
	type SnapshotObserver,
	type SourceWatch,
	SpockError,
} from '@spock/protocol';
import type { SidecarSource } from '@spock/sidecar';

/** A source whose answers a test decides. */
export class FakeSource implements SidecarSource {
	readonly name = 'fake';
	readonly #snapshots = new Map<string, ServiceSnapshot>();
	readonly #observers = new Map<string, Set<SnapshotObserver>>();
	readonly #waiting: { key: string; settle: (snapshot: ServiceSnapshot) => void; reject: (error: Error) => void }[] =
		[];
	#revision = 0;
	isClosed = false;
	/** Set: `list` and cold reads fail with it. */
	failure: Error | undefined;
	aborts = 0;

	/** Publishes instances, or just another source for the same ones. */
	publish(service: string, hosts: readonly string[], members: Partial<ServiceSnapshot> = {}): ServiceSnapshot {
		const instances = hosts.map(instanceAt);
		const snapshot = Object.freeze({
			service,
			revision: ++this.#revision,
			instances,
			source: 'live' as const,
			ageMs: 0,
			verifiedAt: Date.now(),
			...members,
		});
		const key = queryKey(snapshot);
		this.#snapshots.set(key, snapshot);
		for (const observer of this.#observers.get(key) ?? []) observer.next(snapshot);
		for (const waiter of this.#waiting.splice(0)) {
			if (waiter.key === key) waiter.settle(snapshot);
			else this.#waiting.push(waiter);
		}
		return snapshot;
	}

	get watchers(): number {
		return [...this.#observers.values()].reduce((sum, set) => sum + set.size, 0);
	}

	peek(query: ServiceQuery): ServiceSnapshot | undefined {
		return this.#snapshots.get(queryKey(query));
	}

	async get(query: ServiceQuery, options: { signal?: AbortSignal } = {}): Promise<ServiceSnapshot> {
		if (this.failure !== undefined) throw this.failure;
		const known = this.peek(query);
		if (known !== undefined) return known;
		return new Promise((settle, reject) => {
			this.#waiting.push({ key: queryKey(query), settle, reject });
			options.signal?.addEventListener('abort', () => {
				this.aborts++;
				reject(new SpockError('ABORTED', 'aborted'));
			});
		});
	}

	watch(query: ServiceQuery, observer: SnapshotObserver): SourceWatch {
		const key = queryKey(query);
		const observers = this.#observers.get(key) ?? new Set();
		this.#observers.set(key, observers.add(observer));
		const known = this.peek(query);
		if (known !== undefined) observer.next(known);
		return { stop: () => void observers.delete(observer) };
	}

	async list(): Promise<ServiceList> {
		if (this.failure !== undefined) throw this.failure;
		const services = [...this.#snapshots.values()].map(({ service }) => ({ name: service, tags: [] }));
		return { services, source: 'live', ageMs: 0, verifiedAt: Date.now() };
	}

	watches(): [] {
		return [];
	}

	status(): BackendStatus {
		const error = this.failure?.message ?? null;
		const state = error === null ? ('up' as const) : ('down' as const);
		return { name: this.name, state, addresses: [], error, lastSuccessAgeMs: 0 };
	}

	async close(): Promise<void> {
		this.isClosed = true;
	}
}

function instanceAt(host: string): ServiceInstance {
	const members = { weight: 1, status: 'passing' as const, tags: [], meta: {}, zone: null, datacenter: null };
	return Object.freeze({ instance: host, host, port: 80, ...members });
}
