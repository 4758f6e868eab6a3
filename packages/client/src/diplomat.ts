import type { CallOutcome } from '@spock/balancer';
import type {
	CallOptions,
	ExplainReply,
	FuncData,
	FuncName,
	FuncReply,
	KeyPrefixSnapshot,
	KeyQuery,
	KeySnapshot,
	KeySource,
	KeyValueSnapshot,
	ReadOptions,
	RegisterServiceData,
	ServiceAddress,
	ServiceList,
	ServiceSnapshot,
	ServiceSource,
	SnapshotObserver,
	SourceWatch,
} from '@spock/protocol';
import { inNeutralContext, showAs, signalOption } from '@spock/protocol/internal';

import { PLAIN } from './calls/outgoing-call.ts';
import { ClientLife } from './client-life.ts';
import type { Config } from './config/config.ts';
import { type ConfigOptions, openConfig, type PrefixConfigOptions } from './config/open-config.ts';
import { EXTEND, type Extension, type ExtensionHost } from './connection/extension.ts';
import { closedError, directModeError, noKeysError } from './foundation/errors.ts';
import type { ResolvedOptions } from './foundation/options.ts';
import { guardObserver, type Scope, watchIterator } from './foundation/scope.ts';
import type { Closed, DiplomatStatus } from './foundation/status.ts';
import { CLIENT_VERSION } from './foundation/version.ts';
import { InstanceRecords, type Lease, type ReportedAddress } from './lookups/instance-records.ts';
import {
	type AcquireOptions,
	checkCallOptions,
	type GetServiceOptions,
	type KeyOrQuery,
	type LookupOptions,
	type PickNowOptions,
	type PrefixQuery,
	type ServiceOrQuery,
	sourceOptions,
	toKeyQuery,
	toQuery,
} from './lookups/lookup-options.ts';
import { Lookups } from './lookups/lookups.ts';
import { directStore, ServicePickers } from './lookups/service-pickers.ts';
import { PLAN, WorkPlanner } from './lookups/work-planner.ts';
import { OwnRegistrations, type Registration } from './registration/registration.ts';
import { REQUEST_TRAITS } from './snapshots/subscription-kind.ts';
import type { RemoteSource } from './sources/remote-source.ts';

/**
 * The client of a Spock sidecar, or, in direct mode, of any source of services. Made by `connect` or `createDiplomat`.
 *
 * Calls reject with a SpockError: TIMEOUT at their deadline, ABORTED by their signal, DISCONNECTED when the connection is
 * lost under them, OVERLOADED at a limit, CLOSED after `drain` or `close`, or what the sidecar answers. Wrong options
 * throw at the call.
 */
export class Diplomat implements AsyncDisposable {
	static {
		// Not in the public types: other entries of this package use it.
		const value = function (this: Diplomat, make: (host: ExtensionHost) => Extension): Extension | undefined {
			if (!this.#scope.isOpen) throw closedError();
			return this.#sidecar?.extend(make);
		};
		Object.defineProperty(Diplomat.prototype, EXTEND, { value });
		Object.defineProperty(Diplomat.prototype, PLAN, {
			value(this: Diplomat): WorkPlanner {
				return this.#planner;
			},
		});
	}

	/** Settles when this client has ended, with the reason; never rejects. */
	readonly closed: Promise<Closed>;
	readonly #options: ResolvedOptions;
	readonly #source: ServiceSource;
	/** The source when it is a sidecar; undefined in direct mode. */
	readonly #sidecar: RemoteSource | undefined;
	readonly #records: InstanceRecords;
	readonly #planner: WorkPlanner;
	readonly #pickers: ServicePickers;
	readonly #lookups: Lookups;
	readonly #registrations: OwnRegistrations;
	readonly #life: ClientLife;
	/** Watches and configurations. It is open while calls are taken. */
	readonly #scope: Scope;

	/** Use `connect` or `createDiplomat`. The source is owned, and closed, by this client. */
	constructor(options: ResolvedOptions, source: ServiceSource, sidecar?: RemoteSource) {
		this.#options = options;
		this.#source = source;
		this.#sidecar = sidecar;
		// Where the sidecar picks, this client ejects no instance.
		this.#records = new InstanceRecords(options.lookups === 'local' ? options : { ...options, ejectAfterFailures: 0 });
		const store = sidecar?.services.store ?? directStore(source, options);
		this.#planner = new WorkPlanner(options, this.#records, () => options.zone ?? sidecar?.connection.greeting?.zone);
		this.#pickers = new ServicePickers(store, options, this.#records, this.#planner);
		this.#life = new ClientLife({ source, sidecar, store });
		this.#scope = this.#life.scope;
		this.closed = this.#life.closed;
		this.#lookups = new Lookups({
			options,
			scope: this.#scope,
			pickers: this.#pickers,
			records: this.#records,
			planner: this.#planner,
			source,
			sidecar,
		});
		this.#registrations = new OwnRegistrations(source);
		sidecar?.connection.start();
	}

	/**
	 * Resolves when the sidecar has answered; at once if it has. Rejects with TIMEOUT, whose message reports what was
	 * found at the address and what to do. Any number of callers wait for the one connection.
	 */
	ready(options: CallOptions = {}): Promise<void> {
		checkCallOptions(options);
		if (this.#sidecar !== undefined) return this.#sidecar.connection.ready(options);
		return this.#scope.isOpen ? Promise.resolve() : Promise.reject(closedError());
	}

	/**
	 * One healthy instance: where it is. The first lookup of a service subscribes to it; later ones are picked in this
	 * process. While the sidecar is away the answers go on, with `stale: true`, `ageMs` and `verifiedAt`. Rejects with
	 * NO_SUCH_SERVICE or NO_HEALTHY_INSTANCE when no instance serves; with NOT_READY or UNAVAILABLE when the registry has not
	 * answered, or not lately enough for `maxAgeMs`. The address is frozen and may be shared between calls.
	 */
	getService(service: ServiceOrQuery, options?: GetServiceOptions): Promise<ServiceAddress> {
		// After the end there are no pickers, and while a sidecar cannot push their snapshots are outdated.
		if (options === undefined && this.#scope.isOpen && !this.#lookups.isRemote) {
			const answer = this.#pickers.find(service)?.lookUp();
			if (answer !== undefined) return answer;
		}
		return this.#lookups.getService(service, options ?? {});
	}

	/**
	 * As `getService`, but in this tick and only from the snapshot in this process: undefined when no snapshot is stored yet
	 * (the first call subscribes), no instance serves, or the registry has not confirmed it within `maxAgeMs`.
	 */
	pick(service: ServiceOrQuery, options?: PickNowOptions): ServiceAddress | undefined {
		return this.#lookups.pick(service, options);
	}

	/**
	 * As `getService`, for one call: the instance counts as busy until the lease is released, and how the call ended then
	 * counts for or against it. Release every lease.
	 */
	acquire(service: ServiceOrQuery, options: AcquireOptions = {}): Promise<Lease> {
		return this.#lookups.acquire(service, options);
	}

	/** As `acquire`, but in this tick and only from the snapshot in this process: undefined where `pick` is. */
	tryAcquire(service: ServiceOrQuery, options: PickNowOptions = {}): Lease | undefined {
		return this.#lookups.tryAcquire(service, options);
	}

	/**
	 * Reports how a call ended to an instance that `getService` or `pick` returned; a lease reports by itself. An instance
	 * whose calls fail `ejectAfterFailures` times in a row gets no calls of this client for `ejectionMsMin`, and longer each
	 * time it fails again right after. Without effect where the sidecar picks (`lookups: 'remote'`).
	 *
	 * @param address As this client returned it. Any other, such as a copy or an instance of a snapshot, needs the `query` it was
	 * found by: names and places are not unique among services.
	 * @param durationMs How long the instance took to answer, in milliseconds.
	 */
	report(address: ReportedAddress, outcome: CallOutcome, durationMs: number): void {
		// Where the sidecar picks, no instance is ejected: addresses that come over the wire are not remembered.
		const isUnknownAllowed = this.#options.lookups !== 'local';
		this.#records.reportAddress(address, outcome, durationMs, isUnknownAllowed);
	}

	/** All instances of a service, healthy or not. An unknown service is a snapshot without instances. */
	getInstances(service: ServiceOrQuery, options: LookupOptions = {}): Promise<ServiceSnapshot> {
		return this.#whileOpen(options, (complete) => {
			const query = toQuery(service);
			const sidecar = this.#lookups.asked(options);
			return sidecar?.services.reader.fetch(query, options) ?? this.#source.get(query, complete);
		});
	}

	/** The names of all services, of one datacenter if it is given. Always asks. */
	listServices(query: { readonly datacenter?: string } = {}, options: CallOptions = {}): Promise<ServiceList> {
		return this.#whileOpen(options, (complete) => this.#source.list(query, complete));
	}

	/**
	 * The current snapshot of a service and then each change: newest only, so a slow reader skips what is outdated. Ends
	 * when the signal aborts, the loop is left, or this client ends. Rejects with what waiting cannot fix: ACL_DENIED,
	 * UNKNOWN_FUNC (a baseline sidecar cannot push), OVERLOADED, FRAME_TOO_LARGE.
	 */
	watchService(
		service: ServiceOrQuery,
		options: { readonly signal?: AbortSignal } = {},
	): AsyncIterableIterator<ServiceSnapshot> {
		const signal = signalOption('signal', options.signal);
		return watchIterator(this.#scope, signal, this.#source, toQuery(service));
	}

	/**
	 * As `watchService`, for a reader that may not skip a change: `observer.next` is called in the tick in which a snapshot comes, the
	 * current one at once if it is known, and `observer.error` while no snapshot is known. What it throws becomes an uncaught exception, and
	 * the watch continues until `stop`, or the end of this client. Throws CLOSED after the end, OVERLOADED past `subscriptionsMax`.
	 */
	observeService(service: ServiceOrQuery, observer: SnapshotObserver): SourceWatch {
		if (!this.#scope.isOpen) throw closedError();
		return this.#source.watch(toQuery(service), guardObserver(observer));
	}

	/**
	 * Registers this app as an instance of a service, and keeps it registered until it is drained, this client drains, or the
	 * app dies. Resolves when the registry knows it or, with the state `pending`, when it cannot be reached yet. Rejects with
	 * BAD_REQUEST, ACL_DENIED, OVERLOADED, UNKNOWN_FUNC (the sidecar is older, or its registry is read-only; in direct mode,
	 * the source cannot register), TIMEOUT, ABORTED, DISCONNECTED or CLOSED.
	 */
	register(registration: RegisterServiceData, options: CallOptions = {}): Promise<Registration> {
		return this.#whileOpen(options, (complete) => this.#registrations.register(registration, complete));
	}

	/**
	 * The value of a key, or all keys that begin with it. A key that does not exist has the value null. The
	 * first lookup subscribes; later ones are answered in this process, with their age while the sidecar is away.
	 */
	getKey(key: KeyOrQuery, options?: LookupOptions): Promise<KeyValueSnapshot>;
	getKey(prefix: PrefixQuery, options?: LookupOptions): Promise<KeyPrefixSnapshot>;
	getKey(key: KeyOrQuery | PrefixQuery, options: LookupOptions = {}): Promise<KeySnapshot> {
		return this.#whileOpen(options, (complete) => {
			const query = toKeyQuery(key);
			const sidecar = this.#lookups.asked(options);
			return sidecar?.keys.reader.fetch(query, options) ?? this.#keys.get(query, complete);
		});
	}

	/** As `watchService`, of a key or of all keys that begin with it. */
	watchKey(key: KeyOrQuery, options?: { readonly signal?: AbortSignal }): AsyncIterableIterator<KeyValueSnapshot>;
	watchKey(prefix: PrefixQuery, options?: { readonly signal?: AbortSignal }): AsyncIterableIterator<KeyPrefixSnapshot>;
	watchKey(
		key: KeyOrQuery | PrefixQuery,
		options: { readonly signal?: AbortSignal } = {},
	): AsyncIterableIterator<KeySnapshot> {
		const signal = signalOption('signal', options.signal);
		return watchIterator(this.#scope, signal, this.#keys, toKeyQuery(key));
	}

	/** As `observeService`, of a key or of all keys that begin with it. Throws UNKNOWN_FUNC for a source without keys. */
	observeKey(key: string | KeyQuery, observer: SnapshotObserver<KeySnapshot>): SourceWatch {
		if (!this.#scope.isOpen) throw closedError();
		return this.#keys.watch(toKeyQuery(key), guardObserver(observer));
	}

	/**
	 * A value that follows a key: its text, or what `parse` makes of it; with `prefix`, a map of all keys that begin with
	 * it. A bad new value keeps the last good one. Throws CLOSED after the end, OVERLOADED at a limit.
	 */
	config(key: string, options?: ConfigOptions<string> & { readonly parse?: undefined }): Config<string>;
	config<T>(key: string, options: ConfigOptions<T>): Config<T>;
	config<T>(prefix: string, options: PrefixConfigOptions<T>): Config<ReadonlyMap<string, T>>;
	config<T>(
		key: string,
		options: ConfigOptions<T> | PrefixConfigOptions<T> = {},
	): Config<T> | Config<ReadonlyMap<string, T>> {
		if (!this.#scope.isOpen) throw closedError();
		const keys = this.#keys;
		return inNeutralContext(() => openConfig(key, options, keys, this.#options, this.#scope));
	}

	/**
	 * For every instance of a service whether it receives calls and why, its checks, and when it last changed; how the source
	 * stands with the service, and which clients of the sidecar watch it.
	 */
	explain(service: ServiceOrQuery, options: CallOptions = {}): Promise<ExplainReply> {
		return this.#whileOpen(options, (complete) => this.#lookups.explain(toQuery(service), options, complete));
	}

	/** Pings the sidecar; resolves with the round trip in milliseconds, 0 in direct mode. */
	ping(options: CallOptions = {}): Promise<number> {
		return this.#whileOpen(options, async () => this.#sidecar?.ping(options) ?? 0);
	}

	/**
	 * Calls any function of the protocol. Never repeated by itself: when the connection is lost it rejects DISCONNECTED,
	 * and `details.sent` says whether the request had left. In direct mode, without a sidecar, it rejects with UNKNOWN_FUNC.
	 */
	request<F extends FuncName>(func: F, data: FuncData<F>, options: CallOptions = {}): Promise<FuncReply<F>> {
		checkCallOptions(options);
		if (this.#sidecar === undefined) return Promise.reject(directModeError(func));
		return this.#sidecar.call(func, data, REQUEST_TRAITS[func] ?? PLAIN, options);
	}

	/** What this client knows of itself. No I/O. */
	status(): DiplomatStatus {
		const { address, ejectedPercentMax } = this.#options;
		const facts = { zone: this.#planner.zone() ?? null, ejected: this.#records.ejected(), ejectedPercentMax };
		return this.#life.status(address, facts);
	}

	/**
	 * Deregisters what it has registered (waiting for that as long as for any call, at most), and what it is registering, then
	 * refuses new calls, waits for those in flight (each until its deadline at most), and ends, at most `timeoutMs` later if the sidecar
	 * takes nothing. Idempotent.
	 */
	async drain(): Promise<void> {
		const { count, isRegistering } = this.#registrations;
		// Without a connection, a registration that waits for one is rejected like every other call.
		const isReachable = this.#sidecar === undefined || this.#sidecar.connection.state === 'ready';
		// With nothing to deregister it refuses new calls within this tick.
		const isRegistered = count > 0 || (isRegistering && isReachable);
		if (isRegistered) await this.#registrations.drain(sourceOptions({}, this.#options));
		await this.#life.drain();
	}

	/** Rejects every call with CLOSED and ends. Idempotent; also cuts a drain short. */
	close(): Promise<void> {
		return this.#life.close();
	}

	/** As `drain`. */
	[Symbol.asyncDispose](): Promise<void> {
		return this.drain();
	}

	/** Throws UNKNOWN_FUNC for a source without keys. */
	get #keys(): KeySource {
		if (this.#source.keys === undefined) throw noKeysError(this.#source.name);
		return this.#source.keys;
	}

	/**
	 * Makes a call unless this client has ended. Wrong options throw here; any other error rejects. `call`
	 * receives the options for a source.
	 */
	#whileOpen<T>(options: ReadOptions, call: (complete: ReadOptions) => Promise<T>): Promise<T> {
		checkCallOptions(options);
		return (async () => {
			if (!this.#scope.isOpen) throw closedError();
			return call(sourceOptions(options, this.#options));
		})();
	}
}

showAs(Diplomat, 'Diplomat', (diplomat) => {
	const { ejected, ejectedPercentMax: _, zone: _zone, ...status } = diplomat.status();
	return { version: CLIENT_VERSION, ...status, ejected: ejected.length };
});
