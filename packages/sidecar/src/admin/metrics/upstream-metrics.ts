import type { UpstreamFailure } from '@spock/client/upstream';
import type { BackendStatus, UpstreamStatus } from '@spock/protocol';

import type { Metric, MetricsState, Reading } from './metric.ts';

const FAILURES: Readonly<Record<UpstreamFailure, string>> = {
	away: 'no connection, or it was lost',
	denied: 'the token',
	loop: 'it asks this sidecar, itself or by others',
	version: 'no version of the protocol in common',
};

const DIRECTIONS = { read: 'from upstreams', written: 'to upstreams' };

/** Metrics of the sidecars that are asked in place of a registry; without `--upstream` all but the counters are absent. */
export const upstreamMetrics: Readonly<Record<string, Metric>> = {
	spock_upstream_connected: {
		type: 'gauge',
		help: '1 for the upstream that is asked; 0 for the others, and for all while none answers',
		labels: { upstream: 'the addresses of --upstream' },
		read: ofUpstream(({ address, places }) =>
			Object.fromEntries(places.map((place) => [place.address, place.address === address ? 1 : 0])),
		),
	},
	spock_upstream_failovers_total: {
		type: 'counter',
		help: 'Times that another upstream took over from the one before',
		read: (state) => upstreamIn(state.backend())?.failovers ?? 0,
	},
	spock_upstream_failures_total: {
		type: 'counter',
		help: 'Connections to upstreams that failed, were refused or were lost, by reason',
		labels: { reason: FAILURES },
		read: (state) => ({ ...NO_FAILURES, ...upstreamIn(state.backend())?.failures }),
	},
	spock_upstream_subscriptions: {
		type: 'gauge',
		help: 'Queries for services and keys that are subscribed to at the upstream',
		read: ofUpstream(({ subscriptions }) => subscriptions),
	},
	spock_upstream_lag_seconds: {
		type: 'gauge',
		help: 'Longest time, in the last minute or two, from a change at the sidecar that asks the registry to here, by the clocks of both machines; absent without a change. How old answers are: `spock_snapshot_age_seconds`',
		read: ofUpstream(({ lagMs }) => (lagMs === null ? {} : lagMs / 1000)),
	},
	spock_upstream_bytes_total: {
		type: 'counter',
		help: 'Bytes of the connections to upstreams, ended ones included',
		labels: { direction: DIRECTIONS },
		read: (state) => {
			const { bytesRead = 0, bytesWritten = 0 } = upstreamIn(state.backend()) ?? {};
			return { read: bytesRead, written: bytesWritten };
		},
	},
};

const NO_FAILURES = Object.fromEntries(Object.keys(FAILURES).map((reason) => [reason, 0]));

/** Absent where no upstream is asked. */
function ofUpstream(read: (upstream: UpstreamStatus) => Reading): (state: MetricsState) => Reading {
	return (state) => {
		const upstream = upstreamIn(state.backend());
		return upstream === undefined ? {} : read(upstream);
	};
}

function upstreamIn({ upstream, members = [] }: BackendStatus): UpstreamStatus | undefined {
	return upstream ?? members.find((member) => member.upstream !== undefined)?.upstream;
}
