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

/** Who asks. */
export interface AskedBy {
	/**
	 * Names one of those who ask, such as a connection, for a source that keeps answers: each has a share of what it keeps.
	 * Default: nobody in particular, who has no share to keep to.
	 */
	readonly asker?: string | number | undefined;
}

/** What a read of a snapshot may ask for. */
export interface ReadOptions extends CallOptions, AskedBy {
	/**
	 * The registry must have confirmed the answer within this many milliseconds, 0 to 2147483647; 0 asks it now. What is
	 * older is verified first; where that cannot be done the call rejects with UNAVAILABLE, whose details have `ageMs` and
	 * `maxAgeMs`. Default: any age.
	 */
	readonly maxAgeMs?: number | undefined;
}

/** Told of every state of one query, newest only. Callbacks must not throw. */
export interface SnapshotObserver<S = ServiceSnapshot> {
	/** A snapshot newer than the one before it, or the same content with another `source`. */
	next(snapshot: S): void;
	/**
	 * There is no snapshot to give, and why. The watch goes on: a later `next` ends the error. Once a snapshot was given
	 * there are no errors any more, only stale snapshots.
	 */
	error?(error: SpockError): void;
}

/** A running watch. */
export interface SourceWatch {
	/** Ends the watch; idempotent. The observer is not called after it. */
	stop(): void;
}

/** Answers to one kind of question, read once or watched: services have one, and so do keys. */
export interface WatchedSource<Q, S> {
	/** The snapshot known now, in this tick and with no I/O; undefined when there is none. Never starts a watch. */
	peek(query: Q): S | undefined;
	/**
	 * The current snapshot; starts a watch if there is none and waits for its first answer. What does not exist is a
	 * snapshot that says so. Rejects with NOT_READY, UNAVAILABLE, ACL_DENIED, TIMEOUT, ABORTED or CLOSED.
	 */
	get(query: Q, options?: ReadOptions): Promise<S>;
	/** Tells `observer` the current snapshot, if there is one, before it returns; and then every change. */
	watch(query: Q, observer: SnapshotObserver<S>, by?: AskedBy): SourceWatch;
}

/** The keys of a registry. FRAME_TOO_LARGE besides the errors of services: a value or prefix is over the limit. */
export type KeySource = WatchedSource<KeyQuery, KeySnapshot>;

/** Told whenever a registration changes by itself. Must not throw. */
export type RegistrationListener = (registration: RegistrationReply) => void;

/**
 * What a source offers that can register instances as well as find them. What was registered is kept registered: alive,
 * repeated when the registry loses it, tried again when it is away. Rejects with BAD_REQUEST, ACL_DENIED, OVERLOADED,
 * UNKNOWN_FUNC (nobody behind it can register), TIMEOUT, ABORTED, DISCONNECTED or CLOSED. When the source is closed,
 * what is bound to a connection counts as left behind.
 */
export interface ServiceRegistrar {
	/** Resolves when the registry knows it or, with `pending`, when it could not be told yet. Again with the same id: idempotent. */
	register(
		registration: RegisterServiceData,
		listener: RegistrationListener,
		options?: CallOptions,
	): Promise<RegistrationReply>;
	/** Rejects with NO_SUCH_SERVICE for an id that is not registered here. */
	report(report: ReportServiceData, options?: CallOptions): Promise<RegistrationReply>;
	/** Resolves when the registry does not know the instance any more; at once for an id that is not registered here. */
	deregister(which: DeregisterServiceData, options?: CallOptions): Promise<null>;
}

/**
 * The one port through which services are found: a client's connection to a sidecar is one, and so is a cache over a
 * registry's backend. Whoever creates a source closes it.
 */
export interface ServiceSource extends WatchedSource<ServiceQuery, ServiceSnapshot> {
	/** `sidecar`, `consul`, `local`, …: for status and error messages. */
	readonly name: string;
	/** The registry's keys; undefined where it has none. */
	readonly keys?: KeySource | undefined;
	/** The names of all services. Rejects as `get` does. */
	list(query: { readonly datacenter?: string }, options?: CallOptions): Promise<ServiceList>;
	/** What is known of a question beyond its snapshot, for explain. A source that knows no more leaves this out. */
	inspect?(query: ServiceQuery, options?: CallOptions & AskedBy): Promise<Inspection>;
	/** For sources that can register instances as well as find them; absent from those that cannot. */
	readonly registrar?: ServiceRegistrar | undefined;
	/** Ends every watch and rejects every waiting call with CLOSED; idempotent. */
	close(): Promise<void>;
}
