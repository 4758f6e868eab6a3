import { openUpstream, type Upstream, type UpstreamOptions, type UpstreamPeer } from '@spock/client/upstream';
import type { AgedList, Backend, BackendObserver, BackendWatch, Registrar } from '@spock/discovery';
import {
	type BackendStatus,
	type CallOptions,
	entriesOf,
	type Hop,
	type KeyEntry,
	type KeyQuery,
	type KeySnapshot,
	keyQueryKey,
	queryKey,
	type ServiceInstance,
	type ServiceListEntry,
	type ServiceQuery,
	type ServiceSnapshot,
	type SnapshotState,
	SpockError,
} from '@spock/protocol';
import { ageClockOf, type Clock, systemClock, type TimerHandle } from '@spock/protocol/internal';
import { UpstreamRegistrar } from './upstream-registrar.ts';
import { UPSTREAM_QUERIES_MAX } from './upstream-room.ts';
import { OWN_CODES, UpstreamWatch, type UpstreamWatchOptions } from './upstream-watch.ts';

/** How often a failure is reported again while it lasts. */
const REPEAT_MS = 2000;
/** A sidecar that is silent for two of these is left for the next one. Lookups are answered meanwhile. */
const HEARTBEAT_MS = 2000;
const DIAL_TIMEOUT_MS = 2000;

/** Options of {@link UpstreamBackend}. */
export interface UpstreamBackendOptions
	extends Pick<
		UpstreamOptions,
		'places' | 'sidecar' | 'token' | 'fallback' | 'fallbackAfterMs' | 'name' | 'frameBytesMax' | 'random'
	> {
	/** Default: the clock of the process. */
	readonly clock?: Clock;
}

/**
 * Another sidecar as a registry: its answers with their age, its keys, and registrations that it holds for as long as this process is
 * connected to it. Throws a TypeError for a wrong option.
 */
export class UpstreamBackend implements Backend {
	readonly name = 'spock';
	/** The connection asks whether what is known is still live. */
	readonly confirmsAfterStandstill = true;
	readonly queriesMax: Backend['queriesMax'] = UPSTREAM_QUERIES_MAX;
	readonly registrar: Registrar;
	/** Called when other sidecars than before are asked. */
	pathChanged: () => void = () => undefined;
	readonly #places: UpstreamOptions['places'];
	readonly #clock: Clock;
	readonly #upstream: Upstream;
	readonly #watches = new Set<{ stop(): void; repeat(): void }>();
	/** Watches that run, by kind and query. */
	readonly #running = new Map<string, number>();
	#peer: UpstreamPeer | undefined;
	/** By the age clock. */
	#heardAtMs: number | undefined;
	#timer: TimerHandle | undefined;
	readonly #hasFallback: boolean;
	/** How long changes take. */
	readonly #lag = new RecentMax();
	#isClosed = false;

	constructor({ places, clock = systemClock, ...options }: UpstreamBackendOptions) {
		this.#places = places;
		this.#clock = clock;
		this.#hasFallback = options.fallback !== undefined;
		this.#upstream = openUpstream({
			places,
			clock,
			heartbeatMs: HEARTBEAT_MS,
			dialTimeoutMs: DIAL_TIMEOUT_MS,
			...options,
			adopted: (peer) => this.#adopted(peer),
			lost: (heardAtMs) => {
				this.#heardAtMs = heardAtMs;
			},
		});
		this.registrar = new UpstreamRegistrar(this.#upstream.registrar, () => this.#peer?.localHost);
	}

	/** The sidecar that is asked, the one that it asks, and so on; of the last connection while there is none. */
	get path(): readonly Hop[] {
		if (this.#peer === undefined) return [];
		const { instance, place, upstreams } = this.#peer;
		return [{ instance, address: place.name }, ...upstreams];
	}

	watch(query: ServiceQuery, observer: BackendObserver): BackendWatch {
		return this.#watch<ServiceQuery, ServiceSnapshot, readonly ServiceInstance[]>(`s${queryKey(query)}`, {
			...{ source: this.#upstream, query, observer },
			answerIn: ({ instances }) => instances,
			verify: (asked, options) => this.#upstream.verifyService(asked, options),
			retry: () => this.#upstream.retryService(query),
		});
	}

	watchKey(query: KeyQuery, observer: BackendObserver<readonly KeyEntry[]>): BackendWatch {
		return this.#watch<KeyQuery, KeySnapshot, readonly KeyEntry[]>(`k${keyQueryKey(query)}`, {
			...{ source: this.#upstream.keys, query, observer },
			answerIn: entriesOf,
			verify: (asked, options) => this.#upstream.verifyKey(asked, options),
			retry: () => this.#upstream.retryKey(query),
		});
	}

	async read(query: ServiceQuery, options: CallOptions = {}): Promise<readonly ServiceInstance[]> {
		this.#refuseIfClosed();
		return (await this.#call(() => this.#upstream.verifyService(query, options))).instances;
	}

	async list(query: { readonly datacenter?: string }, options?: CallOptions): Promise<readonly ServiceListEntry[]> {
		return (await this.listWithAge(query, options)).services;
	}

	async listWithAge(query: { readonly datacenter?: string }, options: CallOptions = {}): Promise<AgedList> {
		this.#refuseIfClosed();
		const { services, source, ageMs } = await this.#call(() => this.#upstream.list(query, options));
		return { services, ageMs, isLive: source === 'live' };
	}

	status(): BackendStatus {
		const { isReady } = this.#upstream;
		const now = ageClockOf(this.#clock).now();
		const state = isReady ? 'up' : this.#peer === undefined && this.#heardAtMs === undefined ? 'connecting' : 'down';
		const lastSuccessAgeMs = isReady ? 0 : this.#heardAtMs === undefined ? null : Math.round(now - this.#heardAtMs);
		const connected = isReady ? this.path.map(({ address }) => address) : [];
		return {
			name: this.name,
			state,
			addresses: connected.length > 0 ? connected : this.#places.map(({ name }) => name),
			error: isReady ? null : this.#upstream.whyNotReady(),
			lastSuccessAgeMs,
			upstream: {
				address: isReady ? (this.#peer?.place.name ?? null) : null,
				places: this.#upstream.places().map(({ name, error }) => ({ address: name, error })),
				subscriptions: this.#running.size,
				lagMs: this.#lag.max(this.#clock.now()),
				...this.#upstream.counts(),
			},
		};
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		this.#clock.clearTimeout(this.#timer);
		for (const watch of this.#watches) watch.stop();
		this.#watches.clear();
		await this.#upstream.close();
	}

	#watch<Q, S extends SnapshotState, V>(
		key: string,
		{
			retry,
			...options
		}: Pick<UpstreamWatchOptions<Q, S, V>, 'source' | 'query' | 'observer' | 'answerIn' | 'verify'> & { retry(): void },
	): BackendWatch {
		this.#refuseIfClosed();
		const running = this.#running.get(key) ?? 0;
		const watch = new UpstreamWatch<Q, S, V>({
			...options,
			// The cache starts a second watch of a query to have its answer verified.
			verify: running > 0 ? options.verify : undefined,
			clock: this.#clock,
			isConnected: () => this.#upstream.isReady,
			knowsTime: () => this.#upstream.knowsTime,
			process: () => this.#peer?.instance ?? '',
			whyStale: (ageMs, isOversize) => this.#whyStale(ageMs, isOversize),
			changed: (lagMs) => this.#lag.add(lagMs, this.#clock.now()),
		});
		this.#running.set(key, running + 1);
		this.#watches.add(watch);
		this.#repeatLater();
		return {
			retry,
			stop: () => {
				watch.stop();
				if (!this.#watches.delete(watch)) return;
				const left = (this.#running.get(key) ?? 1) - 1;
				if (left > 0) this.#running.set(key, left);
				else this.#running.delete(key);
			},
		};
	}

	#whyStale(ageMs: number, isOversize = false): string {
		if (!this.#upstream.isReady) return `no upstream answers (${this.#upstream.whyNotReady()})`;
		const name = this.#peer?.place.name;
		if (isOversize) {
			const remedy = 'raise --frame-bytes-max of both, or upgrade the older sidecar';
			return `${name} has a newer answer, which does not fit into a frame: ${remedy}`;
		}
		return ageMs === 0 ? `${name} has not answered yet` : `${name} serves its last known answer, ${ageMs} ms old`;
	}

	/** As the watches of other backends, which ask again. */
	#repeatLater(): void {
		if (this.#timer !== undefined) return;
		this.#timer = this.#clock.setTimeout(() => {
			this.#timer = undefined;
			for (const watch of [...this.#watches]) watch.repeat();
			if (this.#watches.size > 0) this.#repeatLater();
		}, REPEAT_MS);
		this.#timer.unref?.();
	}

	/** As the port has it: nothing but what says that the registry is away, or refuses. */
	async #call<T>(call: () => Promise<T>): Promise<T> {
		if (!this.#hasFallback && this.#heardAtMs !== undefined && !this.#upstream.isReady) {
			throw new SpockError('UNAVAILABLE', `no upstream answers (${this.#upstream.whyNotReady()})`);
		}
		try {
			return await call();
		} catch (reason) {
			const error = SpockError.from(reason);
			if (!OWN_CODES.has(error.code) || this.#isClosed) throw error;
			throw new SpockError('UNAVAILABLE', this.#whyStale(0), { cause: error });
		}
	}

	#refuseIfClosed(): void {
		if (this.#isClosed) throw new SpockError('CLOSED', 'the backend was closed');
	}

	#adopted(peer: UpstreamPeer): void {
		const before = JSON.stringify(this.path);
		this.#peer = peer;
		if (JSON.stringify(this.path) !== before) this.pathChanged();
	}
}

const SPAN_MS = 60_000;

/** The largest of the numbers of the last one to two minutes. */
class RecentMax {
	#since = Number.NEGATIVE_INFINITY;
	#now: number | null = null;
	#before: number | null = null;

	add(value: number, nowMs: number): void {
		this.#turn(nowMs);
		this.#now = Math.max(value, this.#now ?? 0);
	}

	/** Null if nothing was added lately. */
	max(nowMs: number): number | null {
		this.#turn(nowMs);
		return this.#now === null ? this.#before : Math.max(this.#now, this.#before ?? 0);
	}

	#turn(nowMs: number): void {
		if (nowMs - this.#since < SPAN_MS) return;
		this.#before = nowMs - this.#since < 2 * SPAN_MS ? this.#now : null;
		this.#now = null;
		this.#since = nowMs;
	}
}
