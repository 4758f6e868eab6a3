import {
	type CallOptions,
	encodePayload,
	encodeRequestTail,
	type FuncData,
	type FuncName,
	type FuncReply,
	type KeyQuery,
	type KeySnapshot,
	type Push,
	type ReadOptions,
	type ServiceList,
	type ServiceQuery,
	type ServiceSnapshot,
	type ServiceSource,
	type SnapshotObserver,
	type SourceWatch,
	SpockError,
} from '@spock/protocol';
import { type CallTraits, PLAIN, timeLeft } from '../calls/outgoing-call.ts';
import type { Extension, ExtensionHost } from '../connection/extension.ts';
import type { Session } from '../connection/session.ts';
import { type ConnectionListener, SidecarConnection } from '../connection/sidecar-connection.ts';
import type { DiplomatOptions, ResolvedOptions } from '../foundation/options.ts';
import { SidecarRegistrar } from '../registration/sidecar-registrar.ts';
import { SubscriptionFeed } from '../snapshots/subscription-feed.ts';
import { KEYS, LIST, SERVICES } from '../snapshots/subscription-kind.ts';
import { Fallback } from './fallback.ts';

/** Services and keys from a sidecar, with an optional fallback for services while it is away. */
export class RemoteSource implements ServiceSource, ConnectionListener {
	readonly name = 'sidecar';
	readonly connection: SidecarConnection;
	readonly registrar: SidecarRegistrar;
	readonly services: SubscriptionFeed<ServiceQuery, ServiceSnapshot>;
	/** The fallback has no part in keys or registrations. */
	readonly keys: SubscriptionFeed<KeyQuery, KeySnapshot>;
	readonly fallback: Fallback | undefined;
	/** False for a sidecar that cannot push, true for one that can; undefined until the first has answered hello. */
	pushes: boolean | undefined = undefined;
	readonly #options: ResolvedOptions;
	readonly #extensions = new Set<Extension>();
	/** New calls go there; undefined while the sidecar is away. */
	#session: Session | undefined;

	/** Owns the fallback. */
	constructor(options: ResolvedOptions, fallback?: DiplomatOptions['fallback']) {
		this.#options = options;
		this.connection = new SidecarConnection(options, this);
		this.fallback = fallback && new Fallback(this.connection, options, fallback);
		this.services = new SubscriptionFeed(SERVICES, this, options, this.fallback);
		this.keys = new SubscriptionFeed(KEYS, this, options);
		this.registrar = new SidecarRegistrar(options, this);
	}

	/** True while the sidecar is away and a fallback replaces it. */
	get isStoodInFor(): boolean {
		return this.fallback?.isAway === true;
	}

	peek(query: ServiceQuery): ServiceSnapshot | undefined {
		return this.services.peek(query);
	}

	get(query: ServiceQuery, options?: ReadOptions): Promise<ServiceSnapshot> {
		return this.services.get(query, options);
	}

	watch(query: ServiceQuery, observer: SnapshotObserver): SourceWatch {
		return this.services.watch(query, observer);
	}

	async list(query: { readonly datacenter?: string } = {}, options: CallOptions = {}): Promise<ServiceList> {
		const { fallback } = this;
		if (fallback === undefined || !fallback.isAway) return this.call('listServices', query, LIST, options);
		const { timeoutMs = this.#options.timeoutMs, signal } = options;
		const left = timeLeft({ timeoutMs, signal }, this.#options);
		try {
			await this.connection.ready({ timeoutMs: Math.min(timeoutMs, this.#options.fallbackAfterMs), signal });
		} catch (error) {
			if (!SpockError.is(error, 'TIMEOUT')) throw error;
		}
		return fallback.isAway ? fallback.source().list(query, left()) : this.call('listServices', query, LIST, left());
	}

	/** Adds a part that is notified of what the connection does, from now on. */
	extend<E extends Extension>(make: (host: ExtensionHost) => E): E {
		const extension = make({
			options: this.#options,
			dial: (listener, isQuiet) => this.connection.open(listener, isQuiet),
			leave: () => this.#extensions.delete(extension),
		});
		this.#extensions.add(extension);
		if (this.#session !== undefined) extension.adopted(this.#session);
		return extension;
	}

	/** Lets the extensions and the calls in flight finish, then closes. */
	async drain(): Promise<void> {
		// Without an extension, calls are refused within this tick.
		const extended = this.#extensions.size > 0 ? await this.#each((extension) => extension.drain()) : [];
		await this.connection.drain();
		await this.#dispose();
		for (const end of extended) if (end.status === 'rejected') throw end.reason;
	}

	async close(): Promise<void> {
		await Promise.all([this.connection.close(), this.#each((extension) => extension.close()), this.#dispose()]);
	}

	adopted(session: Session): void {
		this.pushes = session.greeting?.pushes === true;
		this.fallback?.adopted();
		this.services.adopted(session);
		this.keys.adopted(session);
		this.registrar.adopted(session);
		this.#session = session;
		for (const extension of this.#extensions) extension.adopted(session);
	}

	lost(verifiedAtMs: number): void {
		this.#session = undefined;
		for (const extension of this.#extensions) extension.lost();
		this.fallback?.lost();
		this.services.lost(verifiedAtMs);
		this.keys.lost(verifiedAtMs);
		this.registrar.lost('the connection to the sidecar was lost');
	}

	push(session: Session, push: Push): void {
		const { event, data } = push;
		if (event === 'registration' && !this.registrar.push(data)) this.connection.fault('push', 'not a registration');
		if (event === 'service') this.services.push(session, data);
		else if (event === 'key') this.keys.push(session, data);
		// Pushes of a newer protocol are ignored.
		else for (const extension of this.#extensions) extension.push(session, push);
	}

	/** Calls any function; the options are checked already. */
	call<F extends FuncName>(
		func: F,
		data: FuncData<F>,
		traits: CallTraits,
		{ timeoutMs, signal }: CallOptions,
	): Promise<FuncReply<F>> {
		const tail = encodeRequestTail(func, encodePayload(data), timeoutMs);
		const request = { func, tail, traits, timeoutMs: timeoutMs ?? this.#options.timeoutMs, signal };
		return this.connection.call(request) as Promise<FuncReply<F>>;
	}

	/** Resolves with the round trip, in milliseconds; the options are checked already. */
	async ping(options: CallOptions): Promise<number> {
		const { clock } = this.#options;
		const startedMs = clock.now();
		await this.call('ping', null, PLAIN, options);
		return clock.now() - startedMs;
	}

	#each(end: (extension: Extension) => Promise<void>): Promise<PromiseSettledResult<void>[]> {
		return Promise.allSettled([...this.#extensions].map(end));
	}

	async #dispose(): Promise<void> {
		this.registrar.close();
		this.services.close();
		this.keys.close();
		await this.fallback?.close();
	}
}
