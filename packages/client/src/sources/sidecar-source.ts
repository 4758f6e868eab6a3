import {
	type CallOptions,
	encodePayload,
	encodeRequestTail,
	type FuncData,
	type FuncName,
	type FuncReply,
	type KeyQuery,
	type KeySnapshot,
	keyQueryKey,
	normaliseKeyQuery,
	normaliseQuery,
	type Push,
	queryKey,
	type ReadOptions,
	type ServiceList,
	type ServiceQuery,
	type ServiceSnapshot,
	type ServiceSource,
	type SnapshotObserver,
	type SourceWatch,
	validateKeyQuery,
	validateQuery,
} from '@spock/protocol';

import type { CallTraits } from '../calls/call.ts';
import { Connection } from '../connection/connection.ts';
import type { ConnectionListener } from '../connection/connection-listener.ts';
import type { Session } from '../connection/session.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import { SidecarRegistrar } from '../registration/sidecar-registrar.ts';
import { readKeySnapshot } from '../snapshots/read-key-snapshot.ts';
import { readSnapshot } from '../snapshots/read-snapshot.ts';
import {
	KEY_SNAPSHOT,
	LIST,
	RESUBSCRIBE,
	RESUBSCRIBE_KEY,
	SNAPSHOT,
	SUBSCRIBE,
	SUBSCRIBE_KEY,
} from '../snapshots/snapshot-traits.ts';
import type { SubscriptionKind } from '../snapshots/subscription-kind.ts';
import { Subscriptions } from '../snapshots/subscriptions.ts';

/** Services and keys as a sidecar tells them. */
export class SidecarSource implements ServiceSource, ConnectionListener {
	readonly name = 'sidecar';
	readonly connection: Connection;
	readonly registrar: SidecarRegistrar;
	readonly keys: Subscriptions<KeyQuery, KeySnapshot>;
	/** False for a sidecar that cannot push, true for one that can; undefined until the first has answered hello. */
	pushes: boolean | undefined = undefined;
	readonly #options: ResolvedOptions;
	readonly #services: Subscriptions<ServiceQuery, ServiceSnapshot>;

	constructor(options: ResolvedOptions) {
		this.#options = options;
		this.#services = new Subscriptions(SERVICES, this, options);
		this.keys = new Subscriptions(KEYS, this, options);
		this.connection = new Connection(options, this);
		this.registrar = new SidecarRegistrar(options, this);
	}

	/** Queries that are wanted now, about services and keys. */
	get subscriptionCount(): number {
		return this.#services.count + this.keys.count;
	}

	peek(query: ServiceQuery): ServiceSnapshot | undefined {
		return this.#services.peek(query);
	}

	get(query: ServiceQuery, options?: ReadOptions): Promise<ServiceSnapshot> {
		return this.#services.get(query, options);
	}

	watch(query: ServiceQuery, observer: SnapshotObserver): SourceWatch {
		return this.#services.watch(query, observer);
	}

	/** The snapshot the sidecar has now, asked for over the wire. */
	fetch(query: ServiceQuery, options?: ReadOptions): Promise<ServiceSnapshot> {
		return this.#services.fetch(query, options);
	}

	list(query: { readonly datacenter?: string } = {}, options: CallOptions = {}): Promise<ServiceList> {
		return this.call('listServices', query, LIST, options);
	}

	/** Lets the calls in flight finish, then closes. */
	async drain(): Promise<void> {
		await this.connection.drain();
		this.#dispose();
	}

	async close(): Promise<void> {
		const closed = this.connection.close();
		this.#dispose();
		await closed;
	}

	adopted(session: Session): void {
		this.pushes = session.greeting?.pushes === true;
		this.#services.adopted(session);
		this.keys.adopted(session);
		this.registrar.adopted(session);
	}

	lost(verifiedAtMs: number): void {
		this.#services.lost(verifiedAtMs);
		this.keys.lost(verifiedAtMs);
		this.registrar.lost('the connection to the sidecar was lost');
	}

	push(session: Session, { event, data }: Push): void {
		if (event === 'registration' && !this.registrar.push(data)) this.connection.fault('push', 'not a registration');
		// Pushes of a newer protocol are none of ours.
		if (event === 'service') this.#services.push(session, data);
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

	#dispose(): void {
		this.registrar.close();
		this.#services.close();
		this.keys.close();
	}
}

const SERVICES: SubscriptionKind<ServiceQuery, ServiceSnapshot> = {
	getFunc: 'getInstances',
	watchFunc: 'watchService',
	unwatchFunc: 'unwatchService',
	fetched: SNAPSHOT,
	subscribed: SUBSCRIBE,
	subscribedAgain: RESUBSCRIBE,
	noun: 'service',
	nameOf: ({ service }) => service,
	keyOf: queryKey,
	normalise: normaliseQuery,
	read: readSnapshot,
	queryOf: validateQuery,
};

const KEYS: SubscriptionKind<KeyQuery, KeySnapshot> = {
	getFunc: 'getKey',
	watchFunc: 'watchKey',
	unwatchFunc: 'unwatchKey',
	fetched: KEY_SNAPSHOT,
	subscribed: SUBSCRIBE_KEY,
	subscribedAgain: RESUBSCRIBE_KEY,
	noun: 'key',
	nameOf: ({ key }) => key,
	keyOf: keyQueryKey,
	normalise: normaliseKeyQuery,
	read: readKeySnapshot,
	queryOf: validateKeyQuery,
};
