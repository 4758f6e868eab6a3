import type {
	AckedData,
	ConsumerClosedData,
	DeliverData,
	EventsStatus,
	EventWindowData,
	OpenConsumerData,
	OpenConsumerReply,
	OpenProducerData,
	OpenProducerReply,
	PublishData,
	PublishReply,
	RewindGroupData,
	RewindGroupReply,
} from '../events/event-model.ts';
import type { WireLimits } from '../foundation/limits.ts';
import type { CheckStatus, HoldStatus, QuestionState, RefusedInstance } from '../model/inspection.ts';
import type { GetKeyData, KeyQuery, KeySnapshot } from '../model/key-model.ts';
import type { ServiceQuery } from '../model/query.ts';
import type {
	DeregisterServiceData,
	RegisterServiceData,
	RegistrationReply,
	ReportServiceData,
} from '../model/registration.ts';
import type { InstanceStatus, ServiceAddress, ServiceList, ServiceSnapshot } from '../model/snapshot.ts';

/** What a client says of itself, as its first request. */
export interface HelloData {
	/** Protocol versions the client speaks. */
	readonly versions: readonly number[];
	/** What the app is called, or its client and version, `@spock/client/1.0.0`; for people. */
	readonly client?: string;
	readonly pid?: number;
	/** Optional parts of the protocol it understands: `push`, `goaway`, `window`, `events`. */
	readonly features?: readonly string[];
	/** Longest frame that the client reads, in bytes: it is sent no longer one. Default: the sidecar's own limit. */
	readonly frameBytesMax?: number;
	/** Lets it in where the sidecar wants one, 1 to 512 characters. Never told to anybody. */
	readonly token?: string;
	/**
	 * Made by the client at random and the same on all its connections, 16 to 512 characters: by it, what it registered stays its
	 * own when it comes back on another one. Never told to anybody.
	 */
	readonly secret?: string;
	/**
	 * The client lets itself be heard at least this often, in milliseconds: by a ping where it has nothing else to say. Without
	 * it, silence means nothing.
	 */
	readonly heartbeatMs?: number;
}

/** What a sidecar says of itself. */
export interface HelloReply {
	readonly version: number;
	readonly sidecar: string;
	/** Differs for every process: revisions of another process cannot be compared. */
	readonly instance: string;
	readonly features: readonly string[];
	readonly limits: WireLimits;
}

/** A question for one instance. */
export interface GetServiceData extends ServiceQuery {
	/** Requests with equal keys go to the same instance while the set of instances stays the same. */
	readonly key?: string;
	/** The registry must have confirmed the answer within this many milliseconds; else UNAVAILABLE. */
	readonly maxAgeMs?: number;
}

/** A question for a whole snapshot. */
export interface GetInstancesData extends ServiceQuery {
	/** As for getService. */
	readonly maxAgeMs?: number;
}

/** One cached question and what is known of it. */
export interface WatchStatus extends ServiceQuery {
	readonly state: QuestionState;
	readonly revision: number;
	readonly instances: number;
	readonly healthyInstances: number;
	readonly readers: number;
	readonly ageMs: number;
	/** The last error of the watch while it fails, else null. */
	readonly error: string | null;
}

/** One cached question about keys and what is known of it. Never a value: it may be a secret. */
export interface KeyWatchStatus extends KeyQuery {
	readonly state: WatchStatus['state'];
	readonly revision: number;
	/** Keys found. */
	readonly entries: number;
	readonly readers: number;
	readonly ageMs: number;
	/** The last error of the watch while it fails, else null. */
	readonly error: string | null;
}

/** The health of the registry behind a sidecar, as seen from the sidecar. */
export interface BackendStatus {
	/** `consul`, `local`, `dns`; for several, their names in order: `consul,local`. */
	readonly name: string;
	/** `connecting`: no answer yet. `up`: the last answers were good. `down`: the last one failed. */
	readonly state: 'connecting' | 'up' | 'down';
	/** Addresses or files, without secrets. */
	readonly addresses: readonly string[];
	/** The last error while the state is not `up`, else null. */
	readonly error: string | null;
	/** Since the last good answer, in milliseconds; null before the first. */
	readonly lastSuccessAgeMs: number | null;
	/** Of several backends, each one's own, in order; the other members then tell the worst state and the best age. */
	readonly members?: readonly BackendStatus[];
}

/** One registration that a sidecar keeps. */
export interface RegistrationStatus extends RegistrationReply {
	/**
	 * `held`: an app holds it. `grace`: its last connection was lost and it waits for the next. `adopted`: found at the
	 * registry by a sidecar that was restarted, and nobody has come for it yet. `leaving`: it is being deregistered.
	 */
	readonly phase: 'held' | 'grace' | 'adopted' | 'leaving';
	/** Connections that hold it. */
	readonly holders: number;
	/** What the app reported last. */
	readonly status: ReportServiceData['status'];
	readonly note?: string;
}

/** What `sidecar status` prints. */
export interface StatusReply {
	readonly sidecar: string;
	readonly instance: string;
	readonly pid: number;
	readonly uptimeMs: number;
	readonly phase: string;
	readonly ready: boolean;
	/** Why it is not ready; or, if it is, why only what was last known can be told. */
	readonly reasons: readonly string[];
	readonly backend: BackendStatus;
	readonly connections: number;
	/** The first 64 of them. A sidecar of an earlier version does not tell. */
	readonly clients?: readonly ClientStatus[];
	readonly subscriptions: number;
	/** Of those, and of those that were refused, how many are too long for the frames of their client. */
	readonly oversizeSubscriptions: number;
	readonly watches: readonly WatchStatus[];
	/** What apps have registered through this sidecar. */
	readonly registrations: readonly RegistrationStatus[];
	/** Keys and prefixes being watched. */
	readonly keyWatches: readonly KeyWatchStatus[];
	/** Absent where the sidecar takes no events. */
	readonly events?: EventsStatus;
	/** Totals since the start of the process. */
	readonly counters: Readonly<Record<string, number>>;
}

/** Why an instance is, or is not, among those that get work. */
export interface InstanceExplanation {
	readonly instance: string;
	readonly host: string;
	readonly port: number;
	readonly weight: number;
	readonly status: InstanceStatus;
	readonly included: boolean;
	readonly reason: string;
	/** When it last changed or was first seen, in milliseconds since 1970; null when not known. */
	readonly changedAt: number | null;
	readonly checks: readonly CheckStatus[];
}

/** A client of a sidecar. */
export interface ClientStatus {
	/** Number of its connection, as in the log. */
	readonly connection: number;
	/** What the client says that it is, null if it said nothing. */
	readonly client: string | null;
	readonly pid: number | null;
}

/** A client that watches a service. */
export interface WatcherStatus extends ClientStatus {
	/** Present, and true, while the newest snapshot does not fit into its frames: it has an older one, and knows. */
	readonly oversize?: true;
}

/** The answer to explain. */
export interface ExplainReply extends ServiceQuery {
	readonly state: QuestionState;
	/** Null, with `error` saying why, when there is nothing to serve. */
	readonly source: ServiceSnapshot['source'] | null;
	readonly ageMs: number;
	/** In milliseconds since 1970; 0 when nobody knows. */
	readonly verifiedAt: number;
	/** When instances or source last changed, in milliseconds since 1970; null when not known. */
	readonly changedAt: number | null;
	readonly revision: number;
	readonly error: string | null;
	/** Set while an empty answer is held back. */
	readonly held: HoldStatus | null;
	/** True while all instances are served because too few are healthy. */
	readonly panic: boolean;
	/** As many as fit into a frame. */
	readonly instances: readonly InstanceExplanation[];
	/** How many there are. */
	readonly instanceCount: number;
	/** Bad entries of the registry's last answer, which are left out: the first 64. Absent where there is none. */
	readonly refused?: readonly RefusedInstance[];
	/** How many there are. Absent where there is none. */
	readonly refusedCount?: number;
	/** Bytes of the frame that tells a client all instances; a client whose `frameBytesMax` is less cannot watch them. 0: not known. */
	readonly frameBytes: number;
	/** The first 256 clients that subscribe to just this question. */
	readonly watchers: readonly WatcherStatus[];
	/** How many there are. */
	readonly watcherCount: number;
}

/**
 * Every function of the protocol with the types of its data and its reply. Calls of a client and handlers of a sidecar
 * are typed from here: a misspelt function or member does not compile.
 */
export interface FuncMap {
	hello: { data: HelloData; reply: HelloReply };
	ping: { data: unknown; reply: unknown };
	getService: { data: GetServiceData; reply: ServiceAddress };
	getInstances: { data: GetInstancesData; reply: ServiceSnapshot };
	listServices: { data: { readonly datacenter?: string }; reply: ServiceList };
	watchService: { data: ServiceQuery; reply: ServiceSnapshot };
	unwatchService: { data: ServiceQuery; reply: null };
	registerService: { data: RegisterServiceData; reply: RegistrationReply };
	reportService: { data: ReportServiceData; reply: RegistrationReply };
	deregisterService: { data: DeregisterServiceData; reply: null };
	getKey: { data: GetKeyData; reply: KeySnapshot };
	watchKey: { data: KeyQuery; reply: KeySnapshot };
	unwatchKey: { data: KeyQuery; reply: null };
	openProducer: { data: OpenProducerData; reply: OpenProducerReply };
	publish: { data: PublishData; reply: PublishReply };
	openConsumer: { data: OpenConsumerData; reply: OpenConsumerReply };
	closeConsumer: { data: { readonly consumer: number }; reply: null };
	rewindGroup: { data: RewindGroupData; reply: RewindGroupReply };
	status: { data: null; reply: StatusReply };
	explain: { data: ServiceQuery; reply: ExplainReply };
}

/** The name of a function of the protocol. */
export type FuncName = keyof FuncMap;
export type FuncData<F extends FuncName> = FuncMap[F]['data'];
export type FuncReply<F extends FuncName> = FuncMap[F]['reply'];

/** Why a sidecar asks its clients to move. */
export interface GoawayData {
	readonly reason: 'shutdown' | 'upgrade';
	/** How long the sidecar goes on answering what is in flight, in milliseconds. */
	readonly graceMs: number;
}

/** Every push of the protocol with the type of its data. */
export interface EventMap {
	service: ServiceSnapshot;
	registration: RegistrationReply;
	key: KeySnapshot;
	goaway: GoawayData;
	window: { readonly inFlightMax: number };
	acked: AckedData;
	eventWindow: EventWindowData;
	deliver: DeliverData;
	consumerClosed: ConsumerClosedData;
}

/** The name of a push. */
export type EventName = keyof EventMap;
