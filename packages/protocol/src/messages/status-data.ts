import type { EventsStatus } from '../events/event-model.ts';
import type { CheckStatus, HoldStatus, QuestionState, RefusedInstance } from '../model/inspection.ts';
import type { KeyQuery } from '../model/key-model.ts';
import type { ServiceQuery } from '../model/query.ts';
import type { RegistrationReply, ReportServiceData } from '../model/registration.ts';
import type { InstanceStatus, ServiceSnapshot } from '../model/snapshot.ts';

/** A sidecar that another one asks. */
export interface Hop {
	/** The `instance` of its hello. */
	readonly instance: string;
	/** Where the other one reaches it, for people: `tls://10.0.0.1:7070`. */
	readonly address: string;
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

/** One address of a registry that has several, as seen from the sidecar. */
export interface AddressStatus {
	/** Without secrets. */
	readonly address: string;
	/**
	 * `untried`: not asked yet. `up`: its last answer was good. `no-leader`: it answers, and knows no leader, so that nothing it answers is
	 * current. `down`: the last request failed.
	 */
	readonly state: 'untried' | 'up' | 'no-leader' | 'down';
	/** Whether it is the one that is asked first now. */
	readonly isAsked: boolean;
	/** Time since its last answer, in milliseconds; null before the first. */
	readonly lastSuccessAgeMs: number | null;
	/** The last error while it is not `up`, else null. */
	readonly error: string | null;
	/** Time since it is no longer, or never was, `up`, in milliseconds; null while it is `up` or `untried`. */
	readonly failingForMs: number | null;
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
	/** Of the backend `consul`: each of `addresses`, in order. Missing from a sidecar of an earlier version. */
	readonly addressStatus?: readonly AddressStatus[];
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
	/** How long these lists are, where a frame cannot hold them and each ends early. */
	readonly counts?: Readonly<Record<'watches' | 'registrations' | 'keyWatches', number>>;
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
