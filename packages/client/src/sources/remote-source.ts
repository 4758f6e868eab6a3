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
import { type CallTraits, timeLeft } from '../calls/outgoing-call.ts';
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

	/** Lets the calls in flight finish, then closes. */
	async drain(): Promise<void> {
		await this.connection.drain();
		await this.#dispose();
	}

	async close(): Promise<void> {
		await Promise.all([this.connection.close(), this.#dispose()]);
	}

	adopted(session: Session): void {
		this.pushes = session.greeting?.pushes === true;
		this.services.adopted(session);
		this.keys.adopted(session);
		this.registrar.adopted(session);
	}

	lost(verifiedAtMs: number): void {
		this.services.lost(verifiedAtMs);
		this.keys.lost(verifiedAtMs);
		this.registrar.lost('the connection to the sidecar was lost');
	}

	push(session: Session, { event, data }: Push): void {
		if (event === 'registration' && !this.registrar.push(data)) this.connection.fault('push', 'not a registration');
		// Ignore pushes of a newer protocol.
		if (event === 'service') this.services.push(session, data);
		else if (event === 'key') this.keys.push(session, data);
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

	async #dispose(): Promise<void> {
		this.registrar.close();
		this.services.close();
		this.keys.close();
		await this.fallback?.close();
	}
}
