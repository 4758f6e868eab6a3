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

/** How fresh an answer is, according to the registry. */
export interface AnswerMeta {
	/** How old the answer already was when it arrived, at least, in milliseconds; Infinity if unknown. */
	readonly ageMs: number;
	/**
	 * How long ago another process vouched for it as live, in milliseconds: that is how old it is for callers who name no greatest age.
	 * Default: `ageMs`.
	 */
	readonly vouchedAgeMs?: number;
	/** True for an empty answer that another process has held back already, or knows the reason of: it is believed at once. */
	readonly isEmptied?: boolean;
	/** Since the server that answered last heard from its leader, in milliseconds. */
	readonly lastContactMs?: number;
	/** Whether the server that answered knows a leader. */
	readonly knownLeader?: boolean;
	/** Whether an agent answered from its cache. */
	readonly cache?: 'hit' | 'miss';
	/** True if it came too late, or was confirmed too long ago, to be live: it is served as last known, with its age. */
	readonly isUnconfirmed?: boolean;
}

/** Receives every answer and every failure of one watch from a backend. */
export interface BackendObserver<V = readonly ServiceInstance[]> {
	/**
	 * A good answer: all instances of the query, healthy or not, sorted by `instance`, frozen. Called for every
	 * verification; if nothing has changed, with the same array or an equal one.
	 */
	answered(value: V, meta?: AnswerMeta): void;
	/** The registry could not answer. The watch continues by itself. */
	failed(error: SpockError): void;
	/**
	 * For a backend that would have to query the registry again, because its answer may be outdated: if no client reads this query any
	 * more, ends the watch at once (`stop` is called within this call) and returns true, so that no request is needed. Optional: left out
	 * if there is always a reader.
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
	/**
	 * Callers wait for an answer to this query, which has failed: it may be sent again before its back-off ends. Called at most once a
	 * second. Left out where a back-off is never longer than that.
	 */
	readonly retry?: (() => void) | undefined;
}

/** A list of services, and how old it was already when it arrived. */
export interface AgedList {
	readonly services: readonly ServiceListEntry[];
	/** Of its oldest part, at least, in milliseconds. */
	readonly ageMs: number;
	/** False for a last known list, and for one that was confirmed too long ago to be live. */
	readonly isLive: boolean;
}

/** The list of any backend, with its age. Rejects as `list` does. */
export async function listWithAge(
	backend: Backend,
	query: { readonly datacenter?: string },
	options: CallOptions,
): Promise<AgedList> {
	if (backend.listWithAge !== undefined) return backend.listWithAge(query, options);
	return { services: await backend.list(query, options), ageMs: 0, isLive: true };
}

/** What a backend can ask at once. */
export interface QueriesMax {
	readonly services: number;
	readonly keys: number;
	readonly lists: number;
}

/** The port that a registry implements. The creator of a backend closes it. */
export interface Backend {
	/** `consul`, `local`, `dns`, …: for status and messages. */
	readonly name: string;
	/**
	 * True if an empty answer is always believed, and not held back, as for a list that is maintained by hand. Default:
	 * false, because a registry may lose its data.
	 */
	readonly trustsEmpty?: boolean;
	/**
	 * True if the backend itself reports its answers as unconfirmed, and confirms them, after this process stood still (see `AgeClock`).
	 * Default: false; the cache starts a new watch of every query then.
	 */
	readonly confirmsAfterStandstill?: boolean;
	/**
	 * Most questions that it can watch at once, and lists of other datacenters that it can ask for at once, as behind another sidecar, which
	 * has limits for each client. Default: no limit.
	 */
	readonly queriesMax?: QueriesMax | undefined;
	/**
	 * Starts a watch. The observer may be called before this returns. The first answer must be requested after this call, and never come
	 * from memory: the cache starts a new watch to verify an answer.
	 */
	watch(query: ServiceQuery, observer: BackendObserver): BackendWatch;
	/**
	 * The current instances of a query, requested from the registry and never from memory. Rejects as `list` does. Left out: a watch is
	 * started instead, and ended with its first answer.
	 */
	read?(query: ServiceQuery, options?: CallOptions): Promise<readonly ServiceInstance[]>;
	/**
	 * Starts a watch of a key, or of all keys that begin with it: an answer has the entries that were found, sorted by key, frozen. The
	 * observer may be called before this returns. Left out by a registry without keys.
	 */
	readonly watchKey?: ((query: KeyQuery, observer: BackendObserver<readonly KeyEntry[]>) => BackendWatch) | undefined;
	/**
	 * The names of all services, sorted. Rejects with UNAVAILABLE, ACL_DENIED, TIMEOUT or ABORTED; with UNKNOWN_FUNC if the
	 * registry cannot list.
	 */
	list(query: { readonly datacenter?: string }, options?: CallOptions): Promise<readonly ServiceListEntry[]>;
	/** As `list`, for a backend whose list may be partly old: the list is then served with its age. Left out: `list` is live. */
	listWithAge?(query: { readonly datacenter?: string }, options?: CallOptions): Promise<AgedList>;
	/** Resolves when the registry answers, rejects as `list` does: for readiness. Left out: `list` is called. */
	probe?(options?: CallOptions): Promise<void>;
	/**
	 * Whether the token may read something, although `list` was refused with ACL_DENIED. Rejects as `list` does. Left out: unknown until
	 * the first answer.
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
