import { queryKey, type ServiceAddress, type ServiceQuery, type ServiceSnapshot, SpockError } from '@spock/protocol';
import { inNeutralContext } from '@spock/protocol/internal';
import type { Diplomat } from '../diplomat.ts';
import { unwatchedChannel } from '../foundation/diagnostics.ts';
import type { KnownServiceQuery } from '../lookups/lookup-options.ts';

/** What a resource is, and how it ends. */
export interface InstanceResourcesOptions<R> {
	readonly diplomat: Diplomat;
	/** Makes the resource of an instance: a pool, an agent, a channel. */
	readonly create: (address: ServiceAddress, query: ServiceQuery) => R;
	/** Ends one gracefully: calls that use it still end. Must not throw or reject but for a defect. */
	readonly drain: (resource: R) => void | Promise<void>;
}

/** Of one service. */
interface Followed<R> {
	readonly query: ServiceQuery;
	readonly resources: Map<string, R>;
	/** Ends the watch; undefined without one. */
	watch: AbortController | undefined;
}

/**
 * One resource for each instance that is called, such as its connections. A resource is drained when its instance has left
 * the snapshot, or has moved. A service is watched for as long as it has resources; if the watch ends for good (the
 * registry denies it, for example) they stay, and the next new one watches again.
 */
export class InstanceResources<R> implements AsyncDisposable {
	readonly #options: InstanceResourcesOptions<R>;
	readonly #services = new Map<string, Followed<R>>();
	readonly #draining = new Set<Promise<void>>();

	constructor(options: InstanceResourcesOptions<R>) {
		this.#options = options;
	}

	/** How many there are, those being drained not counted. */
	get size(): number {
		let size = 0;
		for (const { resources } of this.#services.values()) size += resources.size;
		return size;
	}

	/** The resource of an instance, made if necessary. */
	get(query: ServiceQuery, address: ServiceAddress): R {
		const key = queryKey(query);
		const id = idOf(address);
		let followed = this.#services.get(key);
		const known = followed?.resources.get(id);
		if (known !== undefined) return known;
		const resource = inNeutralContext(() => this.#options.create(address, query));
		if (followed === undefined) {
			followed = { query, resources: new Map(), watch: undefined };
			this.#services.set(key, followed);
		}
		followed.resources.set(id, resource);
		const toWatch = followed.watch === undefined ? followed : undefined;
		if (toWatch !== undefined) inNeutralContext(() => void this.#watch(toWatch));
		return resource;
	}

	/** Every resource. */
	*[Symbol.iterator](): IterableIterator<R> {
		for (const { resources } of this.#services.values()) yield* resources.values();
	}

	/** Forgets a resource that has ended by itself. */
	delete(resource: R): void {
		for (const followed of this.#services.values()) {
			for (const [id, known] of followed.resources) {
				if (known !== resource) continue;
				followed.resources.delete(id);
				this.#endIfEmpty(followed);
				return;
			}
		}
	}

	/** Drains every resource, and waits for those that are being drained. It can be used again after. */
	async close(): Promise<void> {
		for (const followed of this.#services.values()) {
			for (const resource of followed.resources.values()) this.#drain(resource);
			followed.resources.clear();
			this.#endIfEmpty(followed);
		}
		await Promise.all(this.#draining);
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	async #watch(followed: Followed<R>): Promise<void> {
		// The caller's types have checked the name.
		const query = followed.query as KnownServiceQuery;
		const watch = new AbortController();
		followed.watch = watch;
		try {
			for await (const snapshot of this.#options.diplomat.watchService(query, { signal: watch.signal })) {
				this.#keepOnly(followed, snapshot);
			}
		} catch (error) {
			if (unwatchedChannel.hasSubscribers) unwatchedChannel.publish({ query, error: SpockError.from(error) });
		} finally {
			if (followed.watch === watch) followed.watch = undefined;
		}
	}

	#keepOnly(followed: Followed<R>, { instances }: ServiceSnapshot): void {
		const known = new Set(instances.map(idOf));
		for (const [id, resource] of followed.resources) {
			if (known.has(id)) continue;
			followed.resources.delete(id);
			this.#drain(resource);
		}
		this.#endIfEmpty(followed);
	}

	#endIfEmpty({ query, resources, watch }: Followed<R>): void {
		if (resources.size > 0) return;
		this.#services.delete(queryKey(query));
		watch?.abort();
	}

	#drain(resource: R): void {
		const drained = Promise.resolve(this.#options.drain(resource)).finally(() => this.#draining.delete(drained));
		this.#draining.add(drained);
	}
}

function idOf({ instance, host, port }: Pick<ServiceAddress, 'instance' | 'host' | 'port'>): string {
	return JSON.stringify([instance, host, port]);
}
