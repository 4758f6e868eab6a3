import type { Registrations } from '@spock/discovery';
import type { StatusReply } from '@spock/protocol';

import type { ConnectionRegistry } from '../connection/connection-registry.ts';
import { SIDECAR_VERSION } from '../foundation/version.ts';
import type { Events, Front, SidecarOptions } from './sidecar-options.ts';

/** Most clients that `status` lists: these fit into a frame whatever their names are. */
const CLIENTS_SHOWN_MAX = 64;

/** The parts of a sidecar's status. */
export type OwnStatus = Pick<StatusReply, 'instance' | 'uptimeMs' | 'phase' | 'ready' | 'reasons'>;

/** What `sidecar status` prints, from the owners of each part. */
export function statusOf(
	{ source, registrations }: SidecarOptions,
	registry: ConnectionRegistry,
	{ instance, uptimeMs, phase, ready, reasons }: OwnStatus,
	events: Events | undefined,
): StatusReply {
	return {
		sidecar: SIDECAR_VERSION,
		instance,
		pid: process.pid,
		uptimeMs,
		phase,
		ready,
		reasons,
		backend: source.status(),
		connections: registry.size,
		clients: registry.clients(CLIENTS_SHOWN_MAX),
		subscriptions: registry.subscriptions,
		oversizeSubscriptions: registry.oversizeSubscriptions,
		watches: source.watches(),
		registrations: registrations?.list() ?? [],
		keyWatches: source.keyWatches?.() ?? [],
		...(events && { events: events.status() }),
		counters: registry.counters(),
	};
}

/** The present load of a sidecar. */
export interface SidecarGauges {
	readonly connections: number;
	readonly subscriptions: number;
	/** How many subscriptions, made or refused, are too long for the frames of their client. */
	readonly oversizeSubscriptions: number;
	readonly inFlight: number;
	/** Output that clients have not read, in bytes. */
	readonly outputBytes: number;
	/** Connections whose window is narrowed. */
	readonly narrowed: number;
	/** Clients that are not read, because they have too much unread output. */
	readonly slowConsumers: number;
	/** Totals of the open connections, since each was opened. */
	readonly bytesRead: number;
	readonly bytesWritten: number;
	/** Registered instances, and how many of them the registry does not know yet, or any more. */
	readonly registrations: number;
	readonly registrationsPending: number;
	/** The same for the gRPC front. */
	readonly grpcConnections: number;
	readonly grpcStreams: number;
}

/** Sums up the connections and registrations of a sidecar. */
export function gaugesOf(
	registry: ConnectionRegistry,
	registrations: Registrations | undefined,
	front: Front | undefined,
): SidecarGauges {
	const { size, subscriptions, oversizeSubscriptions, inFlight, outputBytes, narrowed } = registry;
	const { slowConsumers, bytesRead, bytesWritten } = registry;
	const registered = registrations?.list() ?? [];
	return {
		connections: size,
		subscriptions,
		oversizeSubscriptions,
		inFlight,
		outputBytes,
		narrowed,
		slowConsumers,
		bytesRead,
		bytesWritten,
		registrations: registered.length,
		registrationsPending: registered.filter(({ state }) => state === 'pending').length,
		grpcConnections: front?.connections ?? 0,
		grpcStreams: front?.streams ?? 0,
	};
}
