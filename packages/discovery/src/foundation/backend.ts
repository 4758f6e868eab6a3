import type {
	BackendStatus,
	CallOptions,
	KeyEntry,
	KeyQuery,
	ServiceInstance,
	ServiceListEntry,
	ServiceQuery,
	SpockError,
} from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { DiscoveryListener } from './discovery-event.ts';
import type { Registrar } from './registrar.ts';

/** How fresh an answer is, as the registry says of itself. */
export interface AnswerMeta {
	/** How old the answer was already when it came, at least, in milliseconds: that it was verified before then is not known. */
	readonly ageMs: number;
	/** Since the server that answered last heard from its leader, in milliseconds. */
	readonly lastContactMs?: number;
	/** Whether the server that answered knows a leader. */
	readonly knownLeader?: boolean;
	/** Whether an agent answered from its cache. */
	readonly cache?: 'hit' | 'miss';
	/** It came too late, or was confirmed too long ago, to be called live: it is served as the last that is known, with its age. */
	readonly isUnconfirmed?: boolean;
}

/** Told by a backend of every answer and every failure of one watch. */
export interface BackendObserver<V = readonly ServiceInstance[]> {
	/**
	 * A good answer: all instances of the query, healthy or not, sorted by `instance`, frozen. Called for every
	 * verification; where nothing has changed, the very same array is given again or an equal one.
	 */
	answered(value: V, meta?: AnswerMeta): void;
	/** The registry could not answer. The watch goes on by itself. */
	failed(error: SpockError): void;
	/**
	 * For a backend that would have to ask the registry again, because its answer may be outdated: if no client reads this
	 * query any more, ends the watch at once (`stop` is called within this call) and returns true: no request is needed.
	 * Left out where there is always a reader.
	 */
	endIfUnread?(): boolean;
}

/** A running watch of a backend. It never ends by itself. */
export interface BackendWatch {
	/** Ends the watch; idempotent. The observer is not called after it. */
	stop(): void;
	/**
	 * A client has sent this query again. A registry that cannot watch all queries with the same care prefers those that
	 * were sent last. Left out where it makes no difference.
	 */
	readonly used?: (() => void) | undefined;
}

/** A list of services, and how old its oldest part is in milliseconds; 0 for a live list. */
export interface AgedList {
	readonly services: readonly ServiceListEntry[];
	readonly ageMs: number;
}

/** The list of any backend, with its age. Rejects as `list` does. */
export async function listWithAge(
	backend: Backend,
	query: { readonly datacenter?: string },
	options: CallOptions,
): Promise<AgedList> {
	if (backend.listWithAge !== undefined) return backend.listWithAge(query, options);
	return { services: await backend.list(query, options), ageMs: 0 };
}

/** The port that a registry implements. The creator of a backend closes it. */
export interface Backend {
	/** `consul`, `local`, `dns`, …: for status and messages. */
	readonly name: string;
	/**
	 * True when an empty answer is always meant, as of a list that is maintained by hand: it is not held back. Default:
	 * false, because a registry may lose what it knew.
	 */
	readonly trustsEmpty?: boolean;
	/**
	 * Starts a watch. The observer may be called before this returns. Its first answer is asked of the registry after this
	 * call, and never remembered: the cache starts a watch anew to have an answer verified.
	 */
	watch(query: ServiceQuery, observer: BackendObserver): BackendWatch;
	/**
	 * The instances of a query as they are now, asked of the registry and never remembered. Rejects as `list` does. Left out: a watch
	 * is started for it, and ended with its first answer.
	 */
	read?(query: ServiceQuery, options?: CallOptions): Promise<readonly ServiceInstance[]>;
	/**
	 * Starts a watch of a key, or of all keys that begin with it: an answer is what was found, sorted by key, frozen. The
	 * observer may be called before this returns. Left out by a registry that has no keys.
	 */
	readonly watchKey?: ((query: KeyQuery, observer: BackendObserver<readonly KeyEntry[]>) => BackendWatch) | undefined;
	/**
	 * The names of all services, sorted. Rejects with UNAVAILABLE, ACL_DENIED, TIMEOUT or ABORTED; with UNKNOWN_FUNC where
	 * the registry cannot list.
	 */
	list(query: { readonly datacenter?: string }, options?: CallOptions): Promise<readonly ServiceListEntry[]>;
	/** As `list`, for a backend whose list may be partly old: the list is then served with its age. Left out: `list` is live. */
	listWithAge?(query: { readonly datacenter?: string }, options?: CallOptions): Promise<AgedList>;
	/** Resolves when the registry answers, rejects as `list` does: for readiness. Left out: `list` is asked. */
	probe?(options?: CallOptions): Promise<void>;
	/**
	 * Whether who asks was granted something, although it may list nothing: `list` was refused with ACL_DENIED. Rejects as that does.
	 * Left out: nothing but an answer shows it.
	 */
	mayRead?(options?: CallOptions): Promise<boolean>;
	/** The registry's health as seen from here; never a secret in it. */
	status(): BackendStatus;
	/** For registries that can be written to; absent from the others. Usable until `close`. */
	readonly registrar?: Registrar | undefined;
	/** Ends every watch; idempotent. */
	close(): Promise<void>;
}

/** What `sidecar start --backend ./my-backend.js` gives to the function that makes the backend. */
export interface BackendContext {
	/** Reports queries, so that they are counted and logged; must not be given a secret. */
	readonly onEvent: DiscoveryListener;
	/** Time; the clock of the process. */
	readonly clock: Clock;
}

/** The default export of a module with a backend. May throw, or reject, with an Error that says what to do. */
export type BackendFactory = (context: BackendContext) => Backend | Promise<Backend>;
