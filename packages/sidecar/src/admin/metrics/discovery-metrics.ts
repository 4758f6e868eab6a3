import type { DiscoveryEvent } from '@spock/discovery';
import type { ErrorCode, QuestionState, SnapshotSource } from '@spock/protocol';

import type { LifecycleState } from '../../lifecycle/lifecycle-machine.ts';
import type { TakeOverEvent } from '../../take-over/take-over.ts';
import type { MetricFacts } from './metric-facts.ts';

const SOURCES: Readonly<Record<SnapshotSource, string>> = {
	live: '',
	'last-known-good': 'the registry fails, or an empty answer is held',
	static: 'from a source that never changes',
};

const STATES: Readonly<Record<QuestionState, string>> = {
	cold: 'not answered yet',
	fresh: '',
	held: 'the registry returned no instances; serving the last known ones',
	stale: 'the registry does not confirm the last answer',
};

const HOLD_OUTCOMES: Readonly<Record<Extract<DiscoveryEvent, { type: 'hold-ended' }>['outcome'] | 'begun', string>> = {
	begun: '',
	returned: 'the instances are back',
	emptied: 'the empty answer is believed',
	failed: 'the registry failed meanwhile',
	dropped: 'no client asks any more',
};

const PHASES: Readonly<Record<LifecycleState, string>> = {
	starting: '',
	serving: '',
	'handing over': 'another sidecar has the place; clients are sent there',
	'handed over': 'waiting for clients to leave',
	grace: 'after SIGTERM, not ready and still serving',
	'waiting for clients': '',
	stopping: '',
	stopped: '',
};

const TAKE_OVER_STEPS: Readonly<Record<TakeOverEvent['step'] | 'handed over' | 'place lost', string>> = {
	nobody: 'no sidecar to replace',
	begun: 'asking the registry what the old sidecar knows',
	ending: 'the old one was ending already',
	hung: 'the old one does not answer; its place is taken',
	refused: 'the place is taken, but the old one does not leave',
	finished: 'the old one leaves',
	'port late': 'the old one still has a port; retrying',
	'port bound': 'the port is free and served',
	'handed over': 'another sidecar has replaced this one',
	'place lost': 'another sidecar took it and died, and it could not be taken back: no client can connect',
};

const READ_OUTCOMES = { loaded: '', refused: 'missing or bad; the previous one stays in force' };

const QUERY_OUTCOMES = {
	ok: '',
	UNAVAILABLE: 'no answer, or an error of the registry',
	ACL_DENIED: 'the token',
	OVERLOADED: '',
	BAD_REQUEST: '',
	FRAME_TOO_LARGE: '',
	other: '',
} satisfies Partial<Record<ErrorCode | 'ok' | 'other', string>>;

/** Metrics of the registry, of what is known of it, and of the process. */
export const discoveryMetrics: Readonly<Record<string, MetricFacts>> = {
	spock_backend_up: {
		type: 'gauge',
		help: '1 while the registry answers some watch, or answered the last request; 0 if that failed, or none has ended yet',
		labels: { backend: 'the names of --backend' },
	},
	spock_backend_last_success_age_seconds: {
		type: 'gauge',
		help: 'Time since the last good answer; up to five minutes while nothing changes. Absent before the first',
		labels: { backend: 'the names of --backend' },
	},
	spock_backend_queries_total: {
		type: 'counter',
		help: 'Requests to the registry, by outcome',
		labels: { outcome: QUERY_OUTCOMES },
	},
	spock_watches: {
		type: 'gauge',
		help: 'Queries for services watched at the registry',
		labels: { state: STATES },
	},
	spock_key_watches: {
		type: 'gauge',
		help: 'Keys and prefixes watched at the registry',
		labels: { state: STATES },
	},
	spock_watch_failures_total: { type: 'counter', help: 'Watches that have begun to fail' },
	spock_snapshot_age_seconds: {
		type: 'gauge',
		help: 'Time since the registry confirmed the answer for a service; 0 while it does',
		labels: { service: 'the --metrics-services-max with the oldest answers, then those with most subscribers' },
	},
	spock_snapshot_oldest_age_seconds: {
		type: 'gauge',
		help: 'Longest time since the registry confirmed an answer in use, of all services and keys',
	},
	spock_snapshots_published_total: {
		type: 'counter',
		help: 'Published changes of services',
		labels: { source: SOURCES },
	},
	spock_key_snapshots_published_total: {
		type: 'counter',
		help: 'Published changes of keys',
		labels: { source: SOURCES },
	},
	spock_holds_total: {
		type: 'counter',
		help: 'Empty answers held back, by outcome',
		labels: { outcome: HOLD_OUTCOMES },
	},
	spock_instances_refused_total: {
		type: 'counter',
		help: 'Bad instances left out of answers of the registry, each counted once',
	},
	spock_panics_total: { type: 'counter', help: 'Times all instances of a service were served, critical ones too' },
	spock_state_files_total: {
		type: 'counter',
		help: 'Files of the state directory',
		labels: { outcome: { written: '', 'write-failed': '', restored: 'served in an outage', refused: 'not usable' } },
	},
	spock_credentials_total: {
		type: 'counter',
		help: 'Reads of a token or TLS file',
		labels: { outcome: READ_OUTCOMES },
	},
	spock_logins_total: { type: 'counter', help: 'Logins at Consul', labels: { outcome: { ok: '', failed: '' } } },
	spock_services_files_total: {
		type: 'counter',
		help: 'Reads of the services file',
		labels: { outcome: READ_OUTCOMES },
	},
	spock_registrations: { type: 'gauge', help: 'Instances registered for apps' },
	spock_registrations_pending: {
		type: 'gauge',
		help: 'Instances registered for apps that the registry does not know',
	},
	spock_log_lines_dropped_total: {
		type: 'counter',
		help: 'Log lines dropped; a later line has their number',
		labels: {
			reason: {
				unread: 'the reader stalls or has gone, or the disk is full',
				limited: 'too many of one kind in a second',
			},
		},
	},
	spock_faults_total: {
		type: 'counter',
		help: 'Requests that hit a bug of the sidecar (`INTERNAL`); the log has the stack',
	},
	spock_ready: { type: 'gauge', help: '1 when ready' },
	spock_phase: { type: 'gauge', help: '1 for the phase that the sidecar is in', labels: { phase: PHASES } },
	spock_take_overs_total: {
		type: 'counter',
		help: 'Steps of take-overs, on both sides',
		labels: { step: TAKE_OVER_STEPS },
	},
	spock_build_info: {
		type: 'gauge',
		help: '1, with the version of the sidecar',
		labels: { version: 'of @spock/sidecar' },
	},
};
