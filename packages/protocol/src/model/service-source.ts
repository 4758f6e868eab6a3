import type { SpockError } from '../errors/spock-error.ts';
import type { Inspection } from './inspection.ts';
import type { KeyQuery, KeySnapshot } from './key-model.ts';
import type { ServiceQuery } from './query.ts';
import type {
	DeregisterServiceData,
	RegisterServiceData,
	RegistrationReply,
	ReportServiceData,
} from './registration.ts';
import type { ServiceList, ServiceSnapshot } from './snapshot.ts';

/** How long to wait for an answer, and how to stop waiting. */
export interface CallOptions {
	/** Deadline of the call in milliseconds, 1 to 2147483647. Default: the source's own. */
	readonly timeoutMs?: number | undefined;
	/** Aborts the wait; the call rejects with ABORTED, its cause the signal's reason. */
	readonly signal?: AbortSignal | undefined;
}

/** The caller of a source. */
export interface AskedBy {
	/**
	 * Identifies a caller, such as a connection, for a source that caches answers: each caller has a share of the cache. Default: no
	 * caller in particular, and no share.
	 */
	readonly asker?: string | number | undefined;
}

/** What a read of a snapshot may ask for. */
export interface ReadOptions extends CallOptions, AskedBy {
	/**
	 * The registry must have confirmed the answer within this many milliseconds, 0 to 2147483647; 0 queries it now. An older answer is
	 * verified first; if that fails the call rejects with UNAVAILABLE, whose details have `ageMs` and `maxAgeMs`. Default: any age.
	 */
	readonly maxAgeMs?: number | undefined;
}

/** Receives the states of one query, newest only. Callbacks must not throw. */
export interface SnapshotObserver<S = ServiceSnapshot> {
	/** A snapshot newer than the one before it, or the same content with another `source`. */
	next(snapshot: S): void;
	/**
	 * No snapshot is available, for this reason. The watch continues: a later `next` ends the error. After the first snapshot there are no
	 * errors any more, only stale snapshots.
	 */
	error?(error: SpockError): void;
}

/** A running watch. */
export interface SourceWatch {
	/** Ends the watch; idempotent. The observer is not called after it. */
	stop(): void;
}

/** Answers to one kind of query, read once or watched: services have one, and so do keys. */
export interface WatchedSource<Q, S> {
	/** The snapshot known now, in this tick and without I/O; undefined without one. Never starts a watch. */
	peek(query: Q): S | undefined;
	/**
	 * The current snapshot; starts a watch if necessary and waits for its first answer. A service or key that does not exist has an empty
	 * snapshot. Rejects with NOT_READY, UNAVAILABLE, ACL_DENIED, TIMEOUT, ABORTED or CLOSED.
	 */
	get(query: Q, options?: ReadOptions): Promise<S>;
	/** Notifies `observer` of the current snapshot, if any, before it returns; and then of every change. */
	watch(query: Q, observer: SnapshotObserver<S>, by?: AskedBy): SourceWatch;
}

/** The keys of a registry. FRAME_TOO_LARGE besides the errors of services: a value or prefix is over the limit. */
export type KeySource = WatchedSource<KeyQuery, KeySnapshot>;

/** Called whenever a registration changes by itself. Must not throw. */
export type RegistrationListener = (registration: RegistrationReply) => void;

/**
 * The registering part of a source that can register instances as well as find them. A registration is kept alive, repeated when the
 * registry loses it, and retried while the registry is away. Rejects with BAD_REQUEST, ACL_DENIED, OVERLOADED, UNKNOWN_FUNC (the registry
 * cannot register), TIMEOUT, ABORTED, DISCONNECTED or CLOSED. When the source is closed, registrations that are bound to a connection
 * count as abandoned.
 */
export interface ServiceRegistrar {
	/** Resolves when the registry knows it or, with `pending`, while the registry cannot be reached. Idempotent for the same id. */
	register(
		registration: RegisterServiceData,
		listener: RegistrationListener,
		options?: CallOptions,
	): Promise<RegistrationReply>;
	/** Rejects with NO_SUCH_SERVICE for an id that is not registered here. */
	report(report: ReportServiceData, options?: CallOptions): Promise<RegistrationReply>;
	/** Resolves when the registry no longer knows the instance; at once for an id that is not registered here. */
	deregister(which: DeregisterServiceData, options?: CallOptions): Promise<null>;
}

/**
 * The one port through which services are found: a client's connection to a sidecar is one, and so is a cache over a
 * registry's backend. The creator of a source closes it.
 */
export interface ServiceSource extends WatchedSource<ServiceQuery, ServiceSnapshot> {
	/** `sidecar`, `consul`, `local`, …: for status and error messages. */
	readonly name: string;
	/** The registry's keys; undefined if it has none. */
	readonly keys?: KeySource | undefined;
	/** The names of all services. Rejects as `get` does. */
	list(query: { readonly datacenter?: string }, options?: CallOptions & AskedBy): Promise<ServiceList>;
	/** Everything known of a query beyond its snapshot, for explain. Optional. */
	inspect?(query: ServiceQuery, options?: CallOptions & AskedBy): Promise<Inspection>;
	/** For sources that can register instances as well as find them; absent from those that cannot. */
	readonly registrar?: ServiceRegistrar | undefined;
	/** Ends every watch and rejects every waiting call with CLOSED; idempotent. */
	close(): Promise<void>;
}
