import type {
	AckedData,
	CloseConsumerData,
	ConsumerClosedData,
	DeleteGroupData,
	DeliverData,
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
import type { GetKeyData, KeyQuery, KeySnapshot } from '../model/key-model.ts';
import type { ServiceQuery } from '../model/query.ts';
import type {
	DeregisterServiceData,
	RegisterServiceData,
	RegistrationReply,
	ReportServiceData,
} from '../model/registration.ts';
import type {
	ServiceAddress,
	ServiceList,
	ServiceListPart,
	ServiceSnapshot,
	SnapshotDelta,
	SnapshotInParts,
	SnapshotPart,
} from '../model/snapshot.ts';
import type { ExplainReply, Hop, StatusReply } from './status-data.ts';

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
	 * Optional parts of the protocol it understands: `push`, `goaway`, `window`, `deltas`, `parts`, `lists`, `events`, and how it can pack what
	 * it sends: `zstd`, `deflate`.
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
	/** The wall clock of its machine, in milliseconds since 1970: a client on another one measures how much theirs differ. */
	readonly time?: number;
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
	part: SnapshotPart | ServiceListPart;
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
