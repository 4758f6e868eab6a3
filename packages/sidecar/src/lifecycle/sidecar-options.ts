import type { Duplex } from 'node:stream';

import type { ZonePolicy } from '@spock/balancer';
import type { Registrations } from '@spock/discovery';
import type { EventsStatus, Hop, ServiceQuery, ServiceSource, WatcherStatus } from '@spock/protocol';
import type { Clock, Random } from '@spock/protocol/internal';

import type { ConnectionOrigin } from '../connection/connection-registry.ts';
import type { EventSessions } from '../connection/event-session.ts';
import type { ResolvedLimits, SidecarLimits } from '../foundation/limits.ts';
import type { SidecarObserver } from '../foundation/observer.ts';
import type { SidecarSource } from '../foundation/sidecar-source.ts';
import type { ChooseInstance } from '../handlers/lookups.ts';
import type { Listen, SidecarListen } from '../listen/listener.ts';
import type { Admission, Strangers } from '../overload/admission.ts';
import type { TakeOverOptions } from '../take-over/take-over.ts';
import type { LifecycleState } from './lifecycle-machine.ts';

/** Options of `createSidecar`. */
export interface SidecarOptions {
	/** Owned, and closed, by the sidecar from now on. */
	readonly source: SidecarSource;
	/** Registrations of apps; owned by the sidecar from now on. Default: none, and registering is UNKNOWN_FUNC. */
	readonly registrations?: Registrations;
	/** At least one. */
	readonly listen: readonly SidecarListen[];
	/** Another protocol beside the sidecar's own. Default: none. */
	readonly front?: FrontOptions;
	/** Durable events. Default: none, and their functions are UNKNOWN_FUNC. */
	readonly events?: EventsOptions;
	readonly limits?: SidecarLimits;
	/** The zone that it runs in, sent in hello for clients that do not know their own. Default: unknown. */
	readonly zone?: string;
	/** With `prefer`, `getService` picks in its own zone as far as that has enough instances. Default `any`. */
	readonly zonePolicy?: ZonePolicy;
	/** The sidecars that this one asks. Default: none, it asks a registry. */
	readonly upstreams?: Upstreams;
	/** Replaces the sidecar that listens at the first path, if any. Default: refuses to start there. */
	readonly takeOver?: TakeOverOptions;
	/** Binds an address. For simulations; default: a socket of this process. */
	readonly listener?: Listen;
	/** Receives events, for logs and metrics. */
	readonly observer?: SidecarObserver;
	/** Default: the clock of the process. */
	readonly clock?: Clock;
	/** Runs a callback after the event loop has polled every socket. For simulations; default: `setImmediate`. */
	readonly defer?: (callback: () => void) => void;
	/** Uniform numbers in [0, 1), for jitter and picks. Default `Math.random`. */
	readonly random?: Random;
	/** Identifies this process. Default: a random UUID. */
	readonly instance?: string;
}

/** The sidecars that a sidecar asks. */
export interface Upstreams {
	/** The one that is asked, the one that it asks, and so on; empty before the first has answered. */
	readonly path: readonly Hop[];
	/** Set by the sidecar; to be called when the path has changed. */
	pathChanged: () => void;
}

/** What a {@link Front} gets from its sidecar. */
export interface FrontContext {
	readonly source: ServiceSource;
	/** Picks an instance, in turn with `getService`. */
	readonly choose: ChooseInstance;
	readonly limits: ResolvedLimits;
	readonly clock: Clock;
	readonly observer: SidecarObserver;
	/** Whether lookups should be sent to this sidecar. */
	isReady(): boolean;
	/** Counts the connections of all protocols. */
	readonly admission: Admission;
	/** Connections of all protocols that are not counted there yet. */
	readonly strangers: Strangers;
	/** The clients of the sidecar's own protocol that subscribe to exactly this query. */
	watchers(query: ServiceQuery): readonly WatcherStatus[];
	/** The last connection of this front has gone. */
	emptied(): void;
}

/** Another protocol for the same answers, at addresses of its own. It follows the sidecar's life cycle, phase by phase. */
export interface Front {
	/** Returns the receiver of a listener's connections. With `tokens`, callers must send one of them. */
	acceptor(origin: ConnectionOrigin): (socket: Duplex) => void;
	/** Open connections. */
	readonly connections: number;
	/** Open streams of changes. */
	readonly streams: number;
	phase(state: LifecycleState): void;
	/** Ends every connection once its calls are answered, or after this many milliseconds; resolves when all are gone. Idempotent. */
	close(graceMs: number): Promise<void>;
	/** Drops every connection. */
	destroy(): void;
}

/** How to create a front, and where it listens. */
export interface FrontOptions {
	/** At least one. */
	readonly listen: readonly SidecarListen[];
	readonly create: (context: FrontContext) => Front;
}

/** What a sidecar gives to its {@link Events}. */
export interface EventsContext {
	readonly clock: Clock;
	readonly random: Random;
	/** Where services are found, stores of events among them. */
	readonly source: ServiceSource;
	/** Runs a callback once every socket was looked at again. */
	readonly defer: (callback: () => void) => void;
}

/** Durable events beside the lookups, which depend on none of it. */
export interface Events extends EventSessions {
	/** Reads the log that the sidecar in place still writes, so that `open` takes less time. Never rejects: `open` says what is wrong. */
	readAhead(): Promise<void>;
	/** Opens the log, and tries again for as long as that fails. `takeOver`: also from a process that lives, and hangs. */
	open(takeOver: boolean): void;
	status(): EventsStatus;
	/** Gives the log up: another sidecar has taken this one's place. Never rejects. */
	handOver(): Promise<void>;
	/** Takes nothing new, and ends. Never rejects. Idempotent. */
	close(): Promise<void>;
}

/** Events to be made. */
export interface EventsOptions {
	readonly create: (context: EventsContext) => Events;
}
