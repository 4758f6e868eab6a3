import type {
	BackendStatus,
	EventsStatus,
	ExplainReply,
	InstanceStatus,
	KeyWatchStatus,
	QuestionState,
	RegistrationStatus,
	ServiceQuery,
	SnapshotSource,
} from '@spock/protocol';

import type { PeerFacts } from '../connection/connection-facts.ts';
import type { CommonFailure } from '../foundation/common-failure.ts';
import type { ServiceProblem } from '../foundation/service-problem.ts';

/**
 * What the status page shows, as JSON: `GET /status.json` on the admin port. The instances of a service are left out, and
 * asked for one service at a time: `GET /service.json?key=KEY` gives a {@link ServiceDetail}, and `GET /client.json?id=ID` what one client
 * subscribes to, a {@link ClientDetail}. The page receives the same parts by server-sent events, each under its name, as they change: see
 * `status-streams.ts`.
 *
 * Points in time are milliseconds since 1970, durations milliseconds. Rates are of the last second or so, and null until two
 * samples were taken: samples are taken while somebody looks.
 */
export interface StatusView {
	readonly overview: OverviewView;
	/** Every service that is watched, by name. At most as many as the sidecar watches (10,000). */
	readonly services: readonly ServiceView[];
	readonly connections: ConnectionsView;
	/** Null where events are off. */
	readonly events: EventsStatus | null;
	/** Instances that apps have registered through this sidecar: the first 200. */
	readonly registrations: readonly RegistrationView[];
	/** Keys and prefixes that are watched, without values, which may be secrets: the first 200. */
	readonly keys: readonly KeyView[];
	/** The last 200 changes, the oldest first. A first answer is no change. */
	readonly changes: readonly ChangeView[];
}

/** The process as a whole. */
export interface OverviewView {
	/** When this was taken. */
	readonly at: number;
	/** Name and version of the sidecar. */
	readonly sidecar: string;
	/** Differs for every process. */
	readonly instance: string;
	/** Name of the machine; in a pod that of the pod. */
	readonly host: string;
	readonly pid: number;
	readonly startedAt: number;
	/** `serving`, or a phase of the start or the end. */
	readonly phase: string;
	readonly ready: boolean;
	/** Why it is not ready, or less than live. */
	readonly reasons: readonly string[];
	readonly backend: BackendStatus;
	/** What fails for many services at once, so that it is shown once; null if nothing does. */
	readonly failure: CommonFailure | null;
	readonly services: number;
	readonly connections: number;
	readonly subscriptions: number;
	/** Keys and prefixes that are watched. */
	readonly keys: number;
	/** Instances that apps have registered through this sidecar. */
	readonly registrations: number;
	/** Whether events are on. */
	readonly hasEvents: boolean;
	/** Events and what groups have done, as they are written to the log; null where events are off, or two samples were not taken. */
	readonly recordsPerSecond: number | null;
	/** Requests that wait for an answer. */
	readonly inFlight: number;
	readonly rates: Rates | null;
	readonly latency: LatencyView;
}

/** Per second. */
export interface Rates {
	readonly requests: number;
	readonly bytesRead: number;
	readonly bytesWritten: number;
}

/** Requests by how long their answers took, in the sidecar. */
export interface LatencyView {
	/** The upper bound of each bucket, in milliseconds; the last bucket, which has none, is left out here. */
	readonly boundsMs: readonly number[];
	/** Requests in each bucket since the start; one more than there are bounds. */
	readonly total: readonly number[];
	/** Of these, the ones of the last `recentMs`. */
	readonly recent: readonly number[];
	/** What `recent` covers: 0 until two samples were taken, then up to a minute. */
	readonly recentMs: number;
}

/** One question for a service. */
export interface ServiceView extends ServiceQuery {
	/** Names the question: unique, and what `/service.json` is asked with. */
	readonly key: string;
	/** What it asks for besides the service, for people; empty where there is nothing. */
	readonly label: string;
	readonly state: QuestionState;
	readonly instances: number;
	readonly healthy: number;
	/** Subscriptions of clients. */
	readonly readers: number;
	readonly revision: number;
	/** When instances or source last changed; null before the first answer. */
	readonly changedAt: number | null;
	/** Since when the registry has not confirmed it, while `state` is `stale` or `held`; else null. */
	readonly staleSince: number | null;
	/** Why the watch fails; null if it does not, or if `failure` of the overview has this error. */
	readonly error: string | null;
	/** The worst that is wrong with the service itself, else null. */
	readonly problem: ServiceProblem | null;
	readonly found: FoundView;
}

/** What the instances of one question have, each thing once; the first 100 of each. */
export interface FoundView {
	readonly addresses: readonly string[];
	readonly tags: readonly string[];
	readonly zones: readonly string[];
	readonly statuses: readonly InstanceStatus[];
}

/** One registration. */
export type RegistrationView = Pick<
	RegistrationStatus,
	'service' | 'instance' | 'state' | 'error' | 'phase' | 'holders' | 'status' | 'note' | 'app'
>;

/** One question for keys. Its error as in {@link ServiceView}. */
export type KeyView = Omit<KeyWatchStatus, 'ageMs'>;

/** One query with its instances and watchers: the reply of `explain`. */
export interface ServiceDetail extends ExplainReply {
	readonly key: string;
}

/** The clients that are connected. */
export interface ConnectionsView {
	/** How many there are. */
	readonly count: number;
	/** How many of them have a problem. */
	readonly problems: number;
	/** Connections by gRPC, which are not listed. */
	readonly grpc: number;
	/** The first 200: those with a problem, then by requests per second, then by number. */
	readonly rows: readonly ConnectionView[];
}

/** One connection, and its client. */
export interface ConnectionView extends PeerFacts {
	/** As in the log. */
	readonly id: number;
	/** What the client says that it is, null if it said nothing. */
	readonly client: string | null;
	/** Name and version of its library, if it said them. */
	readonly library: string | null;
	readonly pid: number | null;
	readonly openedAt: number;
	/** Subscriptions: to services and keys together, and to each. */
	readonly subscriptions: number;
	readonly services: number;
	readonly keys: number;
	/** Grows with each subscription that is added or removed: one service may replace another. */
	readonly subscriptionsRevision: number;
	/** What it has registered by this connection: the first 20. */
	readonly registered: readonly Pick<RegistrationStatus, 'id' | 'service' | 'state' | 'status'>[];
	readonly registeredCount: number;
	readonly inFlight: number;
	/** Output that the client has not read, in bytes. */
	readonly outputBytes: number;
	/** Since it was opened. */
	readonly requests: number;
	readonly rates: Rates | null;
	/** What needs attention, the worst first. */
	readonly problems: readonly ClientProblem[];
}

/**
 * `silent`: it has missed its heartbeats. `slow`: it is not read, because it has too much unread output, and will be closed. `behind`: it
 * has more than 1 MiB of unread output, and pushes wait. `not-registered`: the registry does not know an instance that it registers.
 * `critical`: it reports an instance as critical. `oversize`: an answer is too long for its frames. `narrowed`: the sidecar is overloaded,
 * and lets it have fewer requests in flight.
 */
export type ClientProblem = 'silent' | 'slow' | 'behind' | 'not-registered' | 'critical' | 'oversize' | 'narrowed';

/** What one client subscribes to: `GET /client.json?id=ID`. */
export interface ClientDetail {
	readonly id: number;
	/** The first 1,000 services, as in {@link ServiceView}. */
	readonly services: readonly Pick<ServiceView, 'key' | 'service' | 'label' | 'state' | 'instances' | 'healthy'>[];
	/** The first 1,000 keys and prefixes. */
	readonly keys: readonly Pick<KeyView, 'key' | 'prefix' | 'state'>[];
}

/** One published change: of instances, or only of the source of some services' answers. */
export type ChangeView = InstancesChange | SourceChange;

interface Change {
	/** Names the change. */
	readonly id: number;
	/** Grows with every change and with every addition to one. */
	readonly sequence: number;
	readonly at: number;
	/** Where the answers come from since then. */
	readonly source: SnapshotSource;
	/** Where they came from before. */
	readonly sourceBefore: SnapshotSource;
}

/** The instances of one question have changed. */
export interface InstancesChange extends Change {
	readonly kind: 'instances';
	/** As in {@link ServiceView}. */
	readonly key: string;
	readonly service: string;
	readonly revision: number;
	/** How many instances came, went and changed. */
	readonly counts: { readonly came: number; readonly went: number; readonly changed: number };
	/** The first 20 of them: those that went, then those that changed, then those that came. */
	readonly instances: readonly InstanceChange[];
}

/** What became of one instance. */
export interface InstanceChange {
	readonly what: 'came' | 'went' | 'changed';
	readonly instance: string;
	readonly address: string;
	readonly status: InstanceStatus;
	/** What is different, as text; empty unless it changed. */
	readonly fields: readonly { readonly name: string; readonly from: string; readonly to: string }[];
}

/** Only the source of answers has changed, as in an outage: of all services that this happened to one after the other. */
export interface SourceChange extends Change {
	readonly kind: 'source';
	/** How many services. */
	readonly count: number;
	/** The first 10 of them. */
	readonly services: readonly string[];
}
