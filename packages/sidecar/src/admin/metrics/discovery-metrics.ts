import type { DiscoveryEvent } from '@spock/discovery';
import type { ErrorCode, QuestionState, SnapshotSource } from '@spock/protocol';

import type { LifecycleState } from '../../lifecycle/lifecycle-machine.ts';
import type { TakeOverEvent } from '../../take-over/take-over.ts';
import type { MetricFacts } from './metric-facts.ts';

const SOURCES: Readonly<Record<SnapshotSource, string>> = {
	live: '',
	'last-known-good': 'the registry fails, or what it says is held back',
	static: 'of a source that never changes',
};

const STATES: Readonly<Record<QuestionState, string>> = {
	cold: 'not answered yet',
	fresh: '',
	held: 'the registry says that nothing is left, which is not believed yet',
	stale: 'the registry does not confirm the last answer',
};

const HOLD_OUTCOMES: Readonly<Record<Extract<DiscoveryEvent, { type: 'hold-ended' }>['outcome'] | 'begun', string>> = {
	begun: '',
	returned: 'they are back',
	emptied: 'believed',
	failed: 'the registry failed meanwhile',
	dropped: 'nobody asked any more',
};

const PHASES: Readonly<Record<LifecycleState, string>> = {
	starting: '',
	serving: '',
	'handing over': 'another sidecar has the place, clients are sent there',
	'handed over': 'waits for them to leave',
	grace: 'after SIGTERM, not ready and still serving',
	'waiting for clients': '',
	stopping: '',
	stopped: '',
};

const TAKE_OVER_STEPS: Readonly<Record<TakeOverEvent['step'] | 'handed over' | 'place lost', string>> = {
	nobody: 'there was none to replace',
	begun: 'the registry is asked what the sidecar in place knows',
	ending: 'that one was ending already',
	hung: 'that one does not answer; its place is taken',
	refused: 'the place is taken, and that one does not leave',
	finished: 'that one leaves',
	'port late': 'it still has a port, which is tried on',
	'port bound': 'the port is free at last',
	'handed over': 'another sidecar has taken the place of this one',
	'place lost': 'another one took it, died, and it could not be put back: nobody can connect',
};

const READ_OUTCOMES = { loaded: '', refused: 'missing or bad; what was good before stays in force' };

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
		help: 'Since the last good answer; up to the five minutes of a query where nothing changes, and not there before the first',
		labels: { backend: 'the names of --backend' },
	},
	spock_backend_queries_total: {
		type: 'counter',
		help: 'Requests to the registry that have ended, by outcome',
		labels: { outcome: QUERY_OUTCOMES },
	},
	spock_watches: {
		type: 'gauge',
		help: 'Different questions about services watched at the registry now',
		labels: { state: STATES },
	},
	spock_key_watches: {
		type: 'gauge',
		help: 'Different keys and prefixes watched at the registry now',
		labels: { state: STATES },
	},
	spock_watch_failures_total: { type: 'counter', help: 'Watches that were well, or new, and have failed' },
	spock_snapshot_age_seconds: {
		type: 'gauge',
		help: 'How long the registry has not confirmed what is served of a service; 0 while it does',
		labels: { service: 'the --metrics-services-max with the oldest answers, then those with most subscribers' },
	},
	spock_snapshot_oldest_age_seconds: {
		type: 'gauge',
		help: 'The longest that the registry has not confirmed an answer that is served, of all services and keys',
	},
	spock_snapshots_published_total: {
		type: 'counter',
		help: 'Changes of services that were published',
		labels: { source: SOURCES },
	},
	spock_key_snapshots_published_total: {
		type: 'counter',
		help: 'Changes of keys that were published',
		labels: { source: SOURCES },
	},
	spock_holds_total: {
		type: 'counter',
		help: 'Answers that nothing is left, held back, and what came of them',
		labels: { outcome: HOLD_OUTCOMES },
	},
	spock_instances_refused_total: {
		type: 'counter',
		help: 'Bad instances in answers of the registry, which are left out, each once while it stays',
	},
	spock_panics_total: { type: 'counter', help: 'Times that all instances of a service were served, critical ones too' },
	spock_state_files_total: {
		type: 'counter',
		help: 'Files of the state directory',
		labels: { outcome: { written: '', 'write-failed': '', restored: 'served in an outage', refused: 'not usable' } },
	},
	spock_credentials_total: {
		type: 'counter',
		help: 'Times that a token or the files of TLS were read',
		labels: { outcome: READ_OUTCOMES },
	},
	spock_logins_total: { type: 'counter', help: 'Logins at Consul', labels: { outcome: { ok: '', failed: '' } } },
	spock_services_files_total: {
		type: 'counter',
		help: 'Times that the services file was read',
		labels: { outcome: READ_OUTCOMES },
	},
	spock_registrations: { type: 'gauge', help: 'Instances kept registered for apps' },
	spock_registrations_pending: {
		type: 'gauge',
		help: 'Instances kept registered that the registry does not know yet, or any more',
	},
	spock_log_lines_dropped_total: {
		type: 'counter',
		help: 'Lines that the log lacks; a line of it has their number',
		labels: {
			reason: {
				unread: 'its reader stalls or has gone, or its disk is full',
				limited: 'too many of one kind in a second',
			},
		},
	},
	spock_faults_total: {
		type: 'counter',
		help: 'Requests that ended in a bug of the sidecar (`INTERNAL`); the log has the stack',
	},
	spock_ready: { type: 'gauge', help: '1 when ready' },
	spock_phase: { type: 'gauge', help: '1 for the phase that the sidecar is in', labels: { phase: PHASES } },
	spock_take_overs_total: {
		type: 'counter',
		help: 'Steps of take-overs, of this sidecar by another and of another by this one',
		labels: { step: TAKE_OVER_STEPS },
	},
	spock_build_info: {
		type: 'gauge',
		help: '1, with the version of the sidecar',
		labels: { version: 'of @spock/sidecar' },
	},
};
