import type { StatusReply, WatchStatus } from '@spock/protocol';

import type { ServiceView, StatusView } from '../../handlers/status-view.ts';

/** What a status tells without a view, as of a sidecar of an earlier version: no rates, no connections, no changes. */
export function viewOfStatus(reply: StatusReply, at: number): StatusView {
	if (reply.view !== undefined) return reply.view as StatusView;
	const { sidecar, instance, pid, phase, ready, reasons, backend, connections, subscriptions, watches } = reply;
	return {
		overview: {
			...{ at, sidecar, instance, pid, startedAt: at - reply.uptimeMs, phase, ready, reasons, backend },
			...{ services: watches.length, connections, subscriptions, keys: reply.keyWatches?.length ?? 0 },
			...{ registrations: reply.registrations.length, inFlight: 0, rates: null },
			latency: { boundsMs: [], total: [], recent: [], recentMs: 0 },
		},
		services: watches.map((watch) => serviceOf(watch, at)),
		connections: { count: connections, rows: [] },
		changes: [],
	};
}

function serviceOf(watch: WatchStatus, at: number): ServiceView {
	const { healthyInstances, ageMs, ...view } = watch;
	const isStale = watch.state === 'stale' || watch.state === 'held';
	return {
		...view,
		key: watch.service,
		healthy: healthyInstances,
		changedAt: null,
		staleSince: isStale ? at - ageMs : null,
	};
}
