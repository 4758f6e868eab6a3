import { createPicker, explain, inspectionOf, noInstanceError, toAddress } from '@spock/balancer';
import {
	type CallOptions,
	type ExplainReply,
	encodePayload,
	encodeRequestTail,
	type FuncData,
	type FuncName,
	type FuncReply,
	type GetServiceData,
	type KeyPrefixSnapshot,
	type KeySnapshot,
	type KeySource,
	type KeyValueSnapshot,
	type ReadOptions,
	type RegisterServiceData,
	type ServiceAddress,
	type ServiceList,
	type ServiceQuery,
	type ServiceSnapshot,
	type ServiceSource,
	SpockError,
	tooOldError,
} from '@spock/protocol';
import { signalOption } from '@spock/protocol/internal';
import { formatAddress } from '@spock/protocol/node';

import { type CallTraits, throwIfAborted } from './call.ts';
import { ADDRESS, PLAIN, QUESTION, REQUEST_TRAITS } from './call-traits.ts';
import { closedError } from './closed-error.ts';
import type { Config } from './config.ts';
import type { Closed } from './connection.ts';
import type { FallbackSource } from './fallback-source.ts';
import {
	checkCallOptions,
	type GetServiceOptions,
	type KeyOrQuery,
	type LookupOptions,
	type PrefixQuery,
	type ServiceOrQuery,
	toKeyQuery,
	toQuery,
} from './lookup-options.ts';
import { msLeft } from './ms-left.ts';
import { type ConfigOptions, openConfig, type PrefixConfigOptions } from './open-config.ts';
import type { ResolvedOptions } from './options.ts';
import type { Registration } from './registration.ts';
import { Registrations } from './registrations.ts';
import { ServiceViews } from './service-views.ts';
import type { SidecarSource } from './sidecar-source.ts';
import { type DiplomatStatus, directStatus, sidecarStatus } from './status.ts';
import { type Endable, watchIterator } from './watch-iterator.ts';

/** Requests for one address whose frame is remembered, by the name of the service. */
const TAILS_MAX = 1024;

/**
 * The client of a Spock sidecar, or, in direct mode, of any source of services. Made by `connect` or `createDiplomat`.
 *
 * Calls reject with a SpockError: TIMEOUT at their deadline, ABORTED by their signal, DISCONNECTED when the connection is
 * lost under them, OVERLOADED at a limit, CLOSED after `drain` or `close`, or what the sidecar answers. Wrong options
 * throw at the call.
 */
export class Diplomat implements AsyncDisposable {
	/** Settles when this client has ended, with the reason; never rejects. */
	readonly closed: Promise<Closed>;
	readonly #options: ResolvedOptions;
	readonly #source: ServiceSource;
	/** The source when it is a sidecar; undefined in direct mode. */
	readonly #sidecar: SidecarSource | undefined;
	/** The source, when it is a sidecar with another one to stand in for it. */
	readonly #fallback: FallbackSource | undefined;
	readonly #views: ServiceViews;
	readonly #registrations: Registrations;
	/** What ends with this client: watches and configurations. */
	readonly #iterators = new Set<Endable>();
	readonly #tails = new Map<string, string>();
	#resolveClosed: (closed: Closed) => void = () => undefined;
	#state: 'open' | 'ending' | 'ended' = 'open';

	/** Use `connect` or `createDiplomat`. The source is owned, and closed, by this client. */
	constructor(options: ResolvedOptions, source: ServiceSource, sidecar?: SidecarSource, fallback?: FallbackSource) {
		this.#options = options;
		this.#source = source;
		this.#sidecar = sidecar;
		this.#fallback = fallback;
		this.#views = new ServiceViews(source, options);
		this.#registrations = new Registrations(source);
		this.closed = new Promise((resolve) => {
			this.#resolveClosed = resolve;
		});
		if (sidecar !== undefined) {
			// A refused connection ends the client without anybody calling close.
			void sidecar.connection.closedPromise.then((closed) => this.#ended(closed));
			sidecar.connection.start();
		}
	}

	/**
	 * Resolves when the sidecar has answered; at once if it has. Rejects with TIMEOUT, whose message says what was found
	 * at the address and what to do. Any number of callers wait for the one connection.
	 */
	ready(options: CallOptions = {}): Promise<void> {
		checkCallOptions(options);
		if (this.#sidecar !== undefined) return this.#sidecar.connection.ready(options);
		return this.#state === 'open' ? Promise.resolve() : Promise.reject(closedError());
	}

	/**
	 * One healthy instance: where it is. The first lookup of a service subscribes to it; later ones are picked in this
	 * process. While the sidecar is away the answers go on, with `stale: true`, `ageMs` and `verifiedAt`. Rejects with
	 * NO_SUCH_SERVICE or NO_HEALTHY_INSTANCE when there is none; with NOT_READY or UNAVAILABLE when the registry has not
	 * answered, or not lately enough for `maxAgeMs`. The address is frozen and may be shared between calls.
	 */
	getService(service: ServiceOrQuery, options?: GetServiceOptions): Promise<ServiceAddress> {
		if (options === undefined) {
			// After the end there are no views, and while a sidecar cannot push theirs are outdated.
			const isLocal = this.#state === 'open' && !this.#isRemote();
			const answer = isLocal ? this.#views.find(service)?.lookUp() : undefined;
			if (answer !== undefined) return answer;
		} else checkCallOptions(options);
		if (typeof service === 'string' && isPlain(options) && this.#goesRemote(options)) {
			return this.#askByName(service, options?.signal);
		}
		return this.#lookUp(service, options ?? {});
	}

	/**
	 * As `getService`, but in this tick and only from the snapshot in this process: undefined when there is none yet (the
	 * first call subscribes), no instance serves, or the registry has not confirmed it within `maxAgeMs`.
	 */
	pick(
		service: ServiceOrQuery,
		options?: { readonly key?: string; readonly maxAgeMs?: number },
	): ServiceAddress | undefined {
		const view = this.#views.find(service) ?? (this.#state === 'open' ? this.#views.open(toQuery(service)) : undefined);
		if (options?.maxAgeMs !== undefined) {
			checkCallOptions(options);
			if (view?.isWithin(options.maxAgeMs) !== true) return undefined;
		}
		return view?.pick(options?.key);
	}

	/** All instances of a service, healthy or not. An unknown service is a snapshot without instances. */
	getInstances(service: ServiceOrQuery, options: LookupOptions = {}): Promise<ServiceSnapshot> {
		checkCallOptions(options);
		return this.#whileOpen(() => {
			const query = toQuery(service);
			if (this.#sidecar !== undefined && this.#goesRemote(options)) return this.#sidecar.fetch(query, options);
			return this.#source.get(query, this.#callOptions(options));
		});
	}

	/** The names of all services, of one datacenter if it is given. Always asks. */
	listServices(query: { readonly datacenter?: string } = {}, options: CallOptions = {}): Promise<ServiceList> {
		checkCallOptions(options);
		return this.#whileOpen(() => this.#source.list(query, this.#callOptions(options)));
	}

	/**
	 * The current snapshot of a service and then each change: newest only, so a slow reader skips what is outdated. Ends
	 * when the signal aborts, the loop is left, or this client ends. Rejects with what waiting cannot mend: ACL_DENIED,
	 * UNKNOWN_FUNC (a baseline sidecar cannot push), OVERLOADED, FRAME_TOO_LARGE.
	 */
	watchService(
		service: ServiceOrQuery,
		options: { readonly signal?: AbortSignal } = {},
	): AsyncIterableIterator<ServiceSnapshot> {
		const signal = signalOption('signal', options.signal);
		return watchIterator(this.#source, toQuery(service), signal, this.#iterators, () => this.#state === 'open');
	}

	/**
	 * Registers this app as an instance of a service, and keeps it registered until it is drained, this client drains, or the
	 * app dies. Resolves when the registry knows it or, with the state `pending`, when it could not be told yet. Rejects with
	 * BAD_REQUEST, ACL_DENIED, OVERLOADED, UNKNOWN_FUNC (the sidecar is older, or its registry is read-only; in direct mode,
	 * the source cannot register), TIMEOUT, ABORTED, DISCONNECTED or CLOSED.
	 */
	register(registration: RegisterServiceData, options: CallOptions = {}): Promise<Registration> {
		checkCallOptions(options);
		return this.#whileOpen(() => this.#registrations.register(registration, this.#callOptions(options)));
	}

	/**
	 * The value of a key, or all keys that begin with it. That there is no such key is an answer: its value is null. The
	 * first question subscribes; later ones are answered in this process, with their age while the sidecar is away.
	 */
	getKey(key: KeyOrQuery, options?: LookupOptions): Promise<KeyValueSnapshot>;
	getKey(prefix: PrefixQuery, options?: LookupOptions): Promise<KeyPrefixSnapshot>;
	getKey(key: KeyOrQuery | PrefixQuery, options: LookupOptions = {}): Promise<KeySnapshot> {
		checkCallOptions(options);
		return this.#whileOpen(() => {
			const query = toKeyQuery(key);
			if (this.#sidecar !== undefined && this.#goesRemote(options)) return this.#sidecar.keys.fetch(query, options);
			return this.#keys().get(query, this.#callOptions(options));
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
		return watchIterator(this.#keys(), toKeyQuery(key), signal, this.#iterators, () => this.#state === 'open');
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
		if (this.#state !== 'open') throw closedError();
		return openConfig(key, options, this.#keys(), this.#options, this.#iterators);
	}

	/**
	 * For every instance of a service whether it gets work and why, its checks, and when it last changed; how the source
	 * stands with the service, and which clients of the sidecar watch it.
	 */
	explain(service: ServiceOrQuery, options: CallOptions = {}): Promise<ExplainReply> {
		checkCallOptions(options);
		return this.#whileOpen(async () => {
			const query = toQuery(service);
			if (this.#sidecar !== undefined && !this.#isStoodInFor()) return this.#call('explain', query, QUESTION, options);
			const left = this.#callOptions(options);
			const known = await this.#source.inspect?.(query, left);
			return explain(query, known ?? inspectionOf(await this.#source.get(query, left)));
		});
	}

	/** Asks the sidecar for a sign of life; gives the round trip in milliseconds. In direct mode 0. */
	ping(options: CallOptions = {}): Promise<number> {
		checkCallOptions(options);
		return this.#whileOpen(async () => {
			if (this.#sidecar === undefined) return 0;
			const startedMs = this.#options.clock.now();
			await this.#call('ping', null, PLAIN, options);
			return this.#options.clock.now() - startedMs;
		});
	}

	/**
	 * Calls any function of the protocol. Never repeated by itself: when the connection is lost it rejects DISCONNECTED,
	 * and `details.sent` says whether the request had left. In direct mode there is nobody to call: UNKNOWN_FUNC.
	 */
	request<F extends FuncName>(func: F, data: FuncData<F>, options: CallOptions = {}): Promise<FuncReply<F>> {
		checkCallOptions(options);
		return this.#call(func, data, REQUEST_TRAITS[func] ?? PLAIN, options);
	}

	/** What this client knows of itself. No I/O. */
	status(): DiplomatStatus {
		if (this.#sidecar !== undefined)
			return sidecarStatus(this.#sidecar, formatAddress(this.#options.address), this.#fallback);
		return directStatus(this.#source.name, this.#state === 'open', this.#views.count);
	}

	/**
	 * Deregisters what it has registered (waiting for that as long as for any call, at most), then refuses new calls, waits
	 * for those in flight (each until its deadline at most), and ends. Idempotent.
	 */
	async drain(): Promise<void> {
		// With nothing registered it refuses new calls within this tick, as it says.
		if (this.#registrations.count > 0) await this.#registrations.drain(this.#callOptions({}));
		if (this.#state === 'open') await this.#end('drain');
		await this.closed;
	}

	/** Rejects every call with CLOSED and ends. Idempotent; also cuts a drain short. */
	async close(): Promise<void> {
		if (this.#state !== 'ended') await this.#end('close');
		await this.closed;
	}

	/** As `drain`. */
	[Symbol.asyncDispose](): Promise<void> {
		return this.drain();
	}

	/** True when lookups go over the wire one by one: by option, or because the sidecar cannot push. */
	#isRemote(): boolean {
		const isByNature = this.#options.lookups === 'remote' || this.#sidecar?.pushes === false;
		return isByNature && this.#sidecar !== undefined && !this.#isStoodInFor();
	}

	/** True while the sidecar is away and a fallback stands in for it. */
	#isStoodInFor(): boolean {
		return this.#fallback?.isAway === true;
	}

	/** True when this lookup goes over the wire: as every other, or because its caller wants it so. */
	#goesRemote(options: LookupOptions | undefined): boolean {
		return (this.#sidecar !== undefined && options?.fresh === true) || this.#isRemote();
	}

	/** Throws UNKNOWN_FUNC for a source without keys. */
	#keys(): KeySource {
		const { keys, name } = this.#source;
		if (keys !== undefined) return keys;
		throw new SpockError('UNKNOWN_FUNC', `the source ${name} has no keys`, { details: { source: name } });
	}

	/** Makes a call unless this client has ended; whatever is wrong with it rejects. */
	async #whileOpen<T>(call: () => Promise<T>): Promise<T> {
		if (this.#state !== 'open') throw closedError();
		return call();
	}

	async #lookUp(service: ServiceOrQuery, options: GetServiceOptions): Promise<ServiceAddress> {
		const { signal, key } = options;
		const query = toQuery(service);
		throwIfAborted(signal, 'getService');
		if (this.#state !== 'open') throw closedError();
		if (this.#goesRemote(options)) return this.#ask(query, options);
		const { maxAgeMs } = options;
		const known = this.#views.find(query);
		const answerKnown = maxAgeMs === undefined || known?.isWithin(maxAgeMs) ? known?.lookUp(key) : undefined;
		if (answerKnown !== undefined) return answerKnown;
		const left = await this.#whenGreeted(options);
		if (this.#isRemote()) return this.#ask(query, left);
		const view = this.#views.open(query);
		if (view === undefined && this.#sidecar !== undefined) return this.#ask(query, left);
		if (view === undefined || !view.known || (maxAgeMs !== undefined && !view.isWithin(maxAgeMs))) {
			const snapshot = await this.#source.get(query, this.#callOptions(left));
			if (view === undefined) return this.#pickOnce(snapshot, key);
			if (!view.known) view.accept(snapshot);
			view.renew(snapshot);
			// What was asked for may say something else than what is known here, which a push is about to replace.
			if (maxAgeMs !== undefined && !view.isWithin(maxAgeMs)) return this.#pickOnce(snapshot, key);
		}
		const answer = view.lookUp(key);
		if (answer === undefined) throw view.noInstanceError();
		return answer;
	}

	/** Whether a sidecar pushes is known when it has answered hello: a first lookup waits for that, within its deadline. */
	async #whenGreeted(options: GetServiceOptions): Promise<GetServiceOptions> {
		const sidecar = this.#sidecar;
		if (sidecar === undefined || sidecar.pushes !== undefined || this.#isStoodInFor()) return options;
		const { timeoutMs = this.#options.timeoutMs } = options;
		const startedMs = this.#options.clock.now();
		const refusal = sidecar.connection.refusal('getService');
		if (refusal !== undefined) throw refusal;
		await sidecar.connection.ready({ ...options, timeoutMs });
		return { ...options, timeoutMs: msLeft(timeoutMs, startedMs, this.#options.clock) };
	}

	#ask(query: ServiceQuery, options: GetServiceOptions): Promise<ServiceAddress> {
		const { key, maxAgeMs } = options;
		const data = key === undefined ? query : { ...query, key };
		if (maxAgeMs !== undefined) return this.#askWithin(maxAgeMs, data, options);
		return this.#call('getService', data, ADDRESS, options);
	}

	async #askWithin(maxAgeMs: number, query: GetServiceData, options: GetServiceOptions): Promise<ServiceAddress> {
		const address = await this.#call('getService', { ...query, maxAgeMs }, ADDRESS, options);
		// A sidecar that knows nothing of maxAgeMs has looked at no age.
		const { ageMs = 0 } = address;
		if (ageMs > maxAgeMs) throw tooOldError('service', query.service, ageMs, maxAgeMs);
		return address;
	}

	#pickOnce(snapshot: ServiceSnapshot, key: string | undefined): ServiceAddress {
		const { policy, random } = this.#options;
		const chosen = createPicker(policy, snapshot, { random }).pick({ key });
		if (chosen === undefined) throw noInstanceError(snapshot);
		return toAddress(chosen, snapshot);
	}

	#call<F extends FuncName>(
		func: F,
		data: FuncData<F>,
		traits: CallTraits,
		options: CallOptions,
	): Promise<FuncReply<F>> {
		if (this.#sidecar === undefined) {
			const message = `${func}: there is no sidecar to ask in direct mode`;
			return Promise.reject(new SpockError('UNKNOWN_FUNC', message, { details: { func } }));
		}
		return this.#sidecar.call(func, data, traits, options) as Promise<FuncReply<F>>;
	}

	/** The common lookup over the wire: its frame is made once for each service. In direct mode `#lookUp` serves it. */
	#askByName(service: string, signal: AbortSignal | undefined): Promise<ServiceAddress> {
		if (this.#sidecar === undefined || this.#state !== 'open') return this.#lookUp(service, { signal });
		let tail = this.#tails.get(service);
		if (tail === undefined) {
			try {
				tail = encodeRequestTail('getService', encodePayload(toQuery(service)));
			} catch (error) {
				return Promise.reject(error);
			}
			if (this.#tails.size >= TAILS_MAX) this.#tails.clear();
			this.#tails.set(service, tail);
		}
		const { timeoutMs } = this.#options;
		const request = { func: 'getService', tail, traits: ADDRESS, timeoutMs, signal };
		return this.#sidecar.connection.call(request) as Promise<ServiceAddress>;
	}

	/** The options that every source understands, the deadline always among them. */
	#callOptions({ timeoutMs = this.#options.timeoutMs, signal, maxAgeMs }: ReadOptions): ReadOptions {
		return { timeoutMs, signal, maxAgeMs };
	}

	#endIterators(): void {
		for (const iterator of [...this.#iterators]) iterator.end();
	}

	async #end(reason: 'drain' | 'close'): Promise<void> {
		this.#state = 'ending';
		this.#endIterators();
		if (this.#sidecar !== undefined) {
			await this.#sidecar[reason]();
			return this.#fallback?.close();
		}
		this.#views.close();
		await this.#source.close();
		this.#ended({ reason });
	}

	#ended(closed: Closed): void {
		if (this.#state === 'ended') return;
		this.#state = 'ended';
		this.#endIterators();
		this.#views.close();
		void this.#sidecar?.close();
		void this.#fallback?.close();
		this.#resolveClosed(closed);
	}
}

/** True for a lookup whose frame depends on nothing but the service's name. */
function isPlain(options: GetServiceOptions | undefined): boolean {
	return options?.key === undefined && options?.timeoutMs === undefined && options?.maxAgeMs === undefined;
}
