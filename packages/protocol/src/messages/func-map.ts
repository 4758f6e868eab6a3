import type {
	AckedData,
	CloseConsumerData,
	ConsumerClosedData,
	DeleteGroupData,
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
import type {
	InstanceStatus,
	ServiceAddress,
	ServiceList,
	ServiceSnapshot,
	SnapshotDelta,
	SnapshotInParts,
	SnapshotPart,
} from '../model/snapshot.ts';

/** The data of hello, a client's first request. */
export interface HelloData {
	/** Protocol versions the client speaks. */
	readonly versions: readonly number[];
	/** The name of the app, or its client and version, `@spock/client/1.0.0`; for people. */
	readonly client?: string;
	/** The library that it speaks with, and its version, `@spock/client/1.0.0`; for people. */
	readonly library?: string;
	readonly pid?: number;
	/**
	 * Optional parts of the protocol it understands: `push`, `goaway`, `window`, `deltas`, `parts`, `events`, and how it can pack what it
	 * sends: `zstd`, `deflate`.
	 */
	readonly features?: readonly string[];
	/** Longest frame that the client reads, in bytes; the sidecar sends none that is longer. Default: the sidecar's own limit. */
	readonly frameBytesMax?: number;
	/** The token for a sidecar that requires one, 1 to 512 characters. Never revealed. */
	readonly token?: string;
	/**
	 * Made by the client at random and the same on all its connections, 16 to 512 characters: by it, the client keeps its registrations
	 * when it comes back on another connection. Never revealed.
	 */
	readonly secret?: string;
	/**
	 * The client sends something at least this often, in milliseconds: a ping if it has nothing else to send. Without it, silence means
	 * nothing.
	 */
	readonly heartbeatMs?: number;
	/**
	 * The `instance` of a sidecar that asks this one, 1 to 512 characters; absent for an app. It is refused (UNAVAILABLE) by a sidecar that
	 * is the same, or asks it, directly or by way of others.
	 */
	readonly sidecar?: string;
}

/** A sidecar that another one asks. */
export interface Hop {
	/** The `instance` of its hello. */
	readonly instance: string;
	/** Where the other one reaches it, for people: `tls://10.0.0.1:7070`. */
	readonly address: string;
}

/** The answer to hello. */
export interface HelloReply {
	readonly version: number;
	readonly sidecar: string;
	/** Differs for every process: revisions of another process cannot be compared. */
	readonly instance: string;
	readonly features: readonly string[];
	readonly limits: WireLimits;
	/** The zone that the sidecar runs in, for clients that do not know their own. Absent where it is unknown. */
	readonly zone?: string;
	/** How many clients it has, this one among them, where they are many: so many may come back at the same moment. */
	readonly clients?: number;
	/** The sidecar that this one asks, the one that that one asks, and so on. Absent for one that asks a registry. */
	readonly upstreams?: readonly Hop[];
}

/** The data of getService. */
export interface GetServiceData extends ServiceQuery {
	/** Requests with equal keys go to the same instance while the set of instances stays the same. */
	readonly key?: string;
	/** The registry must have confirmed the answer within this many milliseconds; else UNAVAILABLE. */
	readonly maxAgeMs?: number;
}

/** The data of getInstances. */
export interface GetInstancesData extends ServiceQuery {
	/** As for getService. */
	readonly maxAgeMs?: number;
}

/** One cached query and its state. */
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

/** One cached query for keys and its state. Never a value, which may be a secret. */
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
	/** Time since the last good answer, in milliseconds; null before the first. */
	readonly lastSuccessAgeMs: number | null;
	/** For several backends, the health of each, in order; the other members then have the worst state and the best age. */
	readonly members?: readonly BackendStatus[];
	/** Of the backend `spock`. */
	readonly upstream?: UpstreamStatus;
}

/** The sidecars that a sidecar asks in place of a registry; numbers are since the start. */
export interface UpstreamStatus {
	/** The one that is asked now; null while none answers. */
	readonly address: string | null;
	/** All of them, in order. `error`: why one was of no use when it was tried last; null if it worked then, or was not tried. */
	readonly places: readonly { readonly address: string; readonly error: string | null }[];
	/** Queries for services and keys that are subscribed to. */
	readonly subscriptions: number;
	/** Longest time, in the last minute or two, from a change at the sidecar that asks the registry to here; null without a change. */
	readonly lagMs: number | null;
	/** Times that another one took over from the one before. */
	readonly failovers: number;
	/** Connections that failed, were refused or were lost, by reason. */
	readonly failures: Readonly<Record<string, number>>;
	readonly bytesRead: number;
	readonly bytesWritten: number;
}

/** One registration that a sidecar keeps. */
export interface RegistrationStatus extends RegistrationReply {
	/**
	 * `held`: an app holds it. `grace`: its last connection was lost and it waits for the next. `adopted`: found at the
	 * registry by a restarted sidecar, and its app has not come back yet. `leaving`: it is being deregistered.
	 */
	readonly phase: 'held' | 'grace' | 'adopted' | 'leaving';
	/** Connections that hold it. */
	readonly holders: number;
	/** What the app reported last. */
	readonly status: ReportServiceData['status'];
	readonly note?: string;
	/** The app of the token that it was registered with: no other can change it. Absent without one. */
	readonly app?: string;
}

/** What `sidecar status` prints. */
export interface StatusReply {
	readonly sidecar: string;
	readonly instance: string;
	readonly pid: number;
	readonly uptimeMs: number;
	readonly phase: string;
	readonly ready: boolean;
	/** Why it is not ready; or, if it is, why only last known answers are served. */
	readonly reasons: readonly string[];
	readonly backend: BackendStatus;
	readonly connections: number;
	/** The first 64 of them. Missing from a sidecar of an earlier version. */
	readonly clients?: readonly ClientStatus[];
	readonly subscriptions: number;
	/** How many subscriptions, made or refused, are too long for the frames of their client. */
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

/** Why an instance gets work, or does not. */
export interface InstanceExplanation {
	readonly instance: string;
	readonly host: string;
	readonly port: number;
	readonly weight: number;
	readonly status: InstanceStatus;
	/** The failure zone that it runs in. Absent without one. */
	readonly zone?: string;
	readonly included: boolean;
	readonly reason: string;
	/** When it last changed or was first seen, in milliseconds since 1970; null if unknown. */
	readonly changedAt: number | null;
	readonly checks: readonly CheckStatus[];
}

/** A client of a sidecar. */
export interface ClientStatus {
	/** Number of its connection, as in the log. */
	readonly connection: number;
	/** The client's name from its hello; null without one. */
	readonly client: string | null;
	readonly pid: number | null;
}

/** How changes of a service were pushed to a client since it subscribed; the first answer is no push. */
export interface PushedStatus {
	/** All instances in one frame. */
	readonly whole: number;
	/** What had changed. */
	readonly delta: number;
	/** All instances in several frames. */
	readonly parts: number;
	/** Of all frames of the last push. */
	readonly lastBytes: number;
}

/** A client that watches a service. */
export interface WatcherStatus extends ClientStatus {
	/** Absent before the first push. */
	readonly pushed?: PushedStatus;
	/** Present, and true, while the newest snapshot does not fit into its frames: it was sent an older one, marked as such. */
	readonly oversize?: true;
}

/** The answer to explain. */
export interface ExplainReply extends ServiceQuery {
	readonly state: QuestionState;
	/** Null if there is nothing to serve; `error` then has the reason. */
	readonly source: ServiceSnapshot['source'] | null;
	readonly ageMs: number;
	/** In milliseconds since 1970; 0 if unknown. */
	readonly verifiedAt: number;
	/** When instances or source last changed, in milliseconds since 1970; null if unknown. */
	readonly changedAt: number | null;
	readonly revision: number;
	readonly error: string | null;
	/** Set while an empty answer is held back. */
	readonly held: HoldStatus | null;
	/** True while all instances are served because too few are healthy. */
	readonly panic: boolean;
	/** At most as many as fit into a frame. */
	readonly instances: readonly InstanceExplanation[];
	/** How many instances the service has. */
	readonly instanceCount: number;
	/** Invalid entries of the registry's last answer, which are left out: the first 64. Absent without any. */
	readonly refused?: readonly RefusedInstance[];
	/** How many entries are invalid. Absent without any. */
	readonly refusedCount?: number;
	/** Bytes of the frame with all instances; a client whose `frameBytesMax` is less gets them in parts, or cannot watch them. 0: unknown. */
	readonly frameBytes: number;
	/** The first 256 clients that subscribe to exactly this query. */
	readonly watchers: readonly WatcherStatus[];
	/** How many there are. */
	readonly watcherCount: number;
	/** The sidecars that the answer came by, nearest first. Absent where the registry is asked. */
	readonly upstreams?: readonly Hop[];
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
	closeConsumer: { data: CloseConsumerData; reply: null };
	rewindGroup: { data: RewindGroupData; reply: RewindGroupReply };
	deleteGroup: { data: DeleteGroupData; reply: null };
	status: { data: null; reply: StatusReply };
	explain: { data: ServiceQuery; reply: ExplainReply };
}

/** The name of a function of the protocol. */
export type FuncName = keyof FuncMap;

/** Apart from their validators, of which a client needs few: its bundle takes the names without them. */
const NAMES: { readonly [F in FuncName]: true } = {
	hello: true,
	ping: true,
	getService: true,
	getInstances: true,
	listServices: true,
	watchService: true,
	unwatchService: true,
	registerService: true,
	reportService: true,
	deregisterService: true,
	getKey: true,
	watchKey: true,
	unwatchKey: true,
	openProducer: true,
	publish: true,
	openConsumer: true,
	closeConsumer: true,
	rewindGroup: true,
	deleteGroup: true,
	status: true,
	explain: true,
};

/** The names of all functions, in the order of the protocol's table. */
export const funcNames: readonly FuncName[] = /* @__PURE__ */ Object.freeze(
	/* @__PURE__ */ Object.keys(NAMES) as FuncName[],
);

export type FuncData<F extends FuncName> = FuncMap[F]['data'];
export type FuncReply<F extends FuncName> = FuncMap[F]['reply'];

/** Why a sidecar asks its clients to move. */
export interface GoawayData {
	/** `token`: the token of this connection is no longer accepted. */
	readonly reason: 'shutdown' | 'upgrade' | 'token';
	/** How long the sidecar continues to answer requests in flight, in milliseconds. */
	readonly graceMs: number;
	/** How many clients are asked, where they are many. */
	readonly clients?: number;
}

/** Every push of the protocol with the type of its data. */
export interface EventMap {
	service: ServiceSnapshot | SnapshotDelta | SnapshotInParts;
	part: SnapshotPart;
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
