import type { StatusReply } from '@spock/protocol';

import type { ConnectionRegistry } from '../connection/connection-registry.ts';
import { SIDECAR_VERSION } from '../foundation/version.ts';
import type { SidecarOptions } from './sidecar-options.ts';

/** Clients that `status` names: so many fit into a frame whatever they call themselves. */
const CLIENTS_SHOWN_MAX = 64;

/** What a sidecar says of itself. */
export type OwnStatus = Pick<StatusReply, 'instance' | 'uptimeMs' | 'phase' | 'ready' | 'reasons'>;

/** What `sidecar status` prints, put together from what knows it. */
export function statusOf(
	{ source, registrations }: SidecarOptions,
	registry: ConnectionRegistry,
	{ instance, uptimeMs, phase, ready, reasons }: OwnStatus,
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
		counters: registry.counters(),
	};
}
