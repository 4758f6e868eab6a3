import type { DiscoveryEvent } from '@spock/discovery';
import type { BackendStatus, ErrorCode, QuestionState, SnapshotSource } from '@spock/protocol';

import { SIDECAR_VERSION } from '../../foundation/version.ts';
import type { LifecycleState } from '../../lifecycle/lifecycle-machine.ts';
import type { TakeOverEvent } from '../../take-over/take-over.ts';
import { DEFAULT_METRICS_SERVICES_MAX, type Metric } from './metric.ts';
import { oldestServices } from './oldest-services.ts';

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
export const discoveryMetrics: Readonly<Record<string, Metric>> = {
	spock_backend_up: {
		type: 'gauge',
		help: '1 while the registry answers some watch, or answered the last request; 0 if that failed, or none has ended yet',
		labels: { backend: 'the names of --backend' },
		read: ({ backend }) =>
			Object.fromEntries(membersOf(backend()).map(({ name, state }) => [name, state === 'up' ? 1 : 0])),
	},
	spock_backend_last_success_age_seconds: {
		type: 'gauge',
		help: 'Time since the last good answer; up to five minutes while nothing changes. Absent before the first',
		labels: { backend: 'the names of --backend' },
		read: ({ backend }) =>
			Object.fromEntries(
				membersOf(backend()).flatMap(({ name, lastSuccessAgeMs: ageMs }) =>
					ageMs === null ? [] : [[name, ageMs / 1000]],
				),
			),
	},
	spock_backend_address_up: {
		type: 'gauge',
		help: '1 if the last request to an address of Consul was answered; 0 if it failed, or the address knows no leader. Absent before the first',
		labels: { address: 'the addresses of --consul' },
		read: ({ backend }) =>
			Object.fromEntries(
				membersOf(backend()).flatMap(({ addressStatus = [] }) =>
					addressStatus.flatMap(({ address, state }) =>
						state === 'untried' ? [] : [[address, state === 'up' ? 1 : 0]],
					),
				),
			),
	},
	spock_backend_queries_total: {
		type: 'counter',
		help: 'Requests to the registry, by outcome',
		labels: { outcome: QUERY_OUTCOMES },
		on: (count) => ({
			'backend-query': ({ outcome, error }) => count(outcome === 'ok' ? 'ok' : (error?.code ?? 'UNAVAILABLE')),
		}),
	},
	spock_watches: {
		type: 'gauge',
		help: 'Queries for services watched at the registry',
		labels: { state: STATES },
		read: ({ watches }) => countByState(watches()),
	},
	spock_key_watches: {
		type: 'gauge',
		help: 'Keys and prefixes watched at the registry',
		labels: { state: STATES },
		read: ({ keyWatches }) => countByState(keyWatches()),
	},
	spock_watch_failures_total: {
		type: 'counter',
		help: 'Watches that have begun to fail',
		on: (count) => ({ 'watch-failed': () => count() }),
	},
	spock_snapshot_age_seconds: {
		type: 'gauge',
		help: 'Time since the registry confirmed the answer for a service; 0 while it does',
		labels: { service: 'the --metrics-services-max with the oldest answers, then those with most subscribers' },
		read: ({ watches, servicesMax = DEFAULT_METRICS_SERVICES_MAX }) =>
			Object.fromEntries(oldestServices(watches(), servicesMax).map(({ service, ageMs }) => [service, ageMs / 1000])),
	},
	spock_snapshot_oldest_age_seconds: {
		type: 'gauge',
		help: 'Longest time since the registry confirmed an answer in use, of all services and keys',
		read: ({ watches, keyWatches }) => Math.max(oldestMs(watches()), oldestMs(keyWatches())) / 1000,
	},
	spock_snapshots_published_total: {
		type: 'counter',
		help: 'Published changes of services',
		labels: { source: SOURCES },
		on: (count) => ({ published: ({ snapshot }) => count(snapshot.source) }),
	},
	spock_key_snapshots_published_total: {
		type: 'counter',
		help: 'Published changes of keys',
		labels: { source: SOURCES },
		on: (count) => ({ 'key-published': ({ source }) => count(source) }),
	},
	spock_holds_total: {
		type: 'counter',
		help: 'Empty answers held back, by outcome',
		labels: { outcome: HOLD_OUTCOMES },
		on: (count) => ({ held: () => count('begun'), 'hold-ended': ({ outcome }) => count(outcome) }),
	},
	spock_instances_refused_total: {
		type: 'counter',
		help: 'Bad instances left out of answers of the registry, each counted once',
		on: (count) => ({ 'instances-refused': ({ added }) => count('', added) }),
	},
	spock_panics_total: {
		type: 'counter',
		help: 'Times all instances of a service were served, critical ones too',
		on: (count) => ({
			panic: ({ active }) => {
				if (active) count();
			},
		}),
	},
	spock_state_files_total: {
		type: 'counter',
		help: 'Files of the state directory',
		labels: { outcome: { written: '', 'write-failed': '', restored: 'served in an outage', refused: 'not usable' } },
		on: (count) => ({
			'state-restored': () => count('restored'),
			'state-refused': () => count('refused'),
			'state-write': ({ outcome }) => count(outcome === 'ok' ? 'written' : 'write-failed'),
		}),
	},
	spock_credentials_total: {
		type: 'counter',
		help: 'Reads of a token or TLS file',
		labels: { outcome: READ_OUTCOMES },
		on: (count) => ({
			'credentials-loaded': () => count('loaded'),
			'credentials-refused': () => count('refused'),
		}),
	},
	spock_logins_total: {
		type: 'counter',
		help: 'Logins at Consul',
		labels: { outcome: { ok: '', failed: '' } },
		on: (count) => ({ 'logged-in': () => count('ok'), 'login-failed': () => count('failed') }),
	},
	spock_services_files_total: {
		type: 'counter',
		help: 'Reads of the services file',
		labels: { outcome: READ_OUTCOMES },
		on: (count) => ({
			'services-file-loaded': () => count('loaded'),
			'services-file-refused': () => count('refused'),
		}),
	},
	spock_registrations: {
		type: 'gauge',
		help: 'Instances registered for apps',
		read: ({ gauges }) => gauges().registrations,
	},
	spock_registrations_pending: {
		type: 'gauge',
		help: 'Instances registered for apps that the registry does not know',
		read: ({ gauges }) => gauges().registrationsPending,
	},
	spock_registrations_moved_total: {
		type: 'counter',
		help: 'Registrations that another node of the registry has now: the agent before failed, left or was renamed',
		on: (count) => ({ 'registration-moved': () => count() }),
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
		read: ({ logLinesDropped }) => logLinesDropped?.() ?? {},
	},
	spock_faults_total: {
		type: 'counter',
		help: 'Requests that hit a bug of the sidecar (`INTERNAL`); the log has the stack',
		on: (count) => ({ fault: () => count() }),
	},
	spock_ready: { type: 'gauge', help: '1 when ready', read: ({ isReady }) => (isReady() ? 1 : 0) },
	spock_phase: {
		type: 'gauge',
		help: '1 for the phase that the sidecar is in',
		labels: { phase: PHASES },
		read: ({ phase }) => Object.fromEntries(Object.keys(PHASES).map((name) => [name, name === phase() ? 1 : 0])),
	},
	spock_take_overs_total: {
		type: 'counter',
		help: 'Steps of take-overs, on both sides',
		labels: { step: TAKE_OVER_STEPS },
		on: (count) => ({
			tookOver: ({ step }) => count(step),
			placeLost: () => count('place lost'),
			phase: (phase) => {
				if (phase === 'handing over') count('handed over');
			},
		}),
	},
	spock_build_info: {
		type: 'gauge',
		help: '1, with the version of the sidecar',
		labels: { version: 'of @spock/sidecar' },
		read: () => ({ [SIDECAR_VERSION]: 1 }),
	},
};

/** The backends that are asked in order, or the one that there is. */
function membersOf(status: BackendStatus): readonly Omit<BackendStatus, 'members'>[] {
	return status.members ?? [status];
}

function countByState(watches: readonly { readonly state: QuestionState }[]): Readonly<Record<string, number>> {
	const counts = { cold: 0, fresh: 0, held: 0, stale: 0 };
	for (const { state } of watches) counts[state]++;
	return counts;
}

function oldestMs(watches: readonly { readonly ageMs: number }[]): number {
	let oldest = 0;
	for (const { ageMs } of watches) oldest = Math.max(oldest, ageMs);
	return oldest;
}
