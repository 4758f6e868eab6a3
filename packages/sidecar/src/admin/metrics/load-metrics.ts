import type { CloseReason, LimitName, OverloadSignal, PushForm, TlsFailure } from '../../foundation/observer.ts';
import type { Metric } from './metric.ts';

const CLOSE_REASONS: Readonly<Record<CloseReason, string>> = {
	client: 'the client has left',
	error: 'the connection broke',
	'bad-frames': 'too many invalid frames in a row',
	'frame-too-large': '',
	'partial-frame': 'stopped in the middle of a frame',
	handshake: 'no frame after connecting',
	denied: 'no token, or a wrong one; or a ticket that is none',
	'bad-uplink': 'something else than the next event on an uplink',
	full: 'the token was good, but connectionsMax were open',
	'slow-consumer': 'left its answers unread for too long',
	silent: 'over TCP, missed three heartbeats: its machine is gone, or it hangs',
	token: 'the token that let it in was removed, and the client stayed',
	shutdown: 'the sidecar ends, or another has its place',
};

const LIMITS: Readonly<Record<LimitName, string>> = {
	frameBytesMax: '',
	inFlightMax: '',
	inFlightTotalMax: '',
	inFlightBytesMax: '',
	connectionsMax: '',
	strangersMax: 'a TCP connection without a token made room for another',
	subscriptionsMax: '',
	outputBytesMax: 'the sidecar stops reading from a client that does not read',
	slowConsumerMs: '',
	partialBytesMax: '',
	partialFrameMs: '',
	handshakeMs: '',
	badFramesInARowMax: '',
	framesPerTurnMax: 'a busy client waits for its turn; not an error',
};

const SIGNALS: Readonly<Record<OverloadSignal, string>> = {
	'loop-delay': 'the event loop is late',
	'in-flight': 'too many requests wait',
	output: 'clients do not read',
};

const TLS_FAILURES: Readonly<Record<TlsFailure, string>> = {
	'not-tls': '',
	version: '',
	'no-certificate': '',
	'bad-certificate': '',
	'refused-by-client': 'it does not trust the certificate',
	timeout: '',
	closed: 'often the same',
	other: '',
};

const PUSH_FORMS: Readonly<Record<PushForm, string>> = {
	whole: 'all instances in one frame',
	delta: 'what has changed since the last push',
	parts: 'all instances in several frames, because one cannot hold them',
};

/** Of those the kernel has for accept(2), the ones that a listener survives. */
const ACCEPT_ERRORS = { EMFILE: '', ENFILE: 'the machine has no more open files', ENOBUFS: '', ENOMEM: '', other: '' };

const DIRECTIONS = { read: 'from clients', written: 'to clients' };

/** Metrics of what clients do, and how the sidecar copes. */
export const loadMetrics: Readonly<Record<string, Metric>> = {
	spock_requests_in_flight: {
		type: 'gauge',
		help: 'Requests waiting for an answer, mostly of the registry',
		read: ({ gauges }) => gauges().inFlight,
	},
	spock_connections: { type: 'gauge', help: 'Open connections', read: ({ gauges }) => gauges().connections },
	spock_connections_opened_total: {
		type: 'counter',
		help: 'Connections accepted',
		on: (count) => ({ connectionOpened: () => count() }),
	},
	spock_connections_closed_total: {
		type: 'counter',
		help: 'Connections ended, by reason',
		labels: { reason: CLOSE_REASONS },
		on: (count) => ({ connectionClosed: (_id, reason) => count(reason) }),
	},
	spock_connections_refused_total: {
		type: 'counter',
		help: 'Connections closed at once, because connectionsMax were open',
		on: (count) => ({ connectionRefused: () => count() }),
	},
	spock_accepts_failed_total: {
		type: 'counter',
		help: "Connections that could not be accepted, by the kernel's error",
		labels: { code: ACCEPT_ERRORS },
		on: (count) => ({ acceptFailed: (error: NodeJS.ErrnoException) => count(error.code ?? 'other') }),
	},
	spock_tls_handshakes_failed_total: {
		type: 'counter',
		help: 'Failed TLS handshakes, by reason',
		labels: { reason: TLS_FAILURES },
		on: (count) => ({ tlsFailed: (reason) => count(reason) }),
	},
	spock_connection_bytes_total: {
		type: 'counter',
		help: 'Bytes of all connections, ended ones included',
		labels: { direction: DIRECTIONS },
		read: ({ gauges }) => ({ read: gauges().bytesRead, written: gauges().bytesWritten }),
		on: (count) => ({
			connectionClosed: (_id, _reason, bytesRead, bytesWritten) => {
				count('read', bytesRead);
				count('written', bytesWritten);
			},
		}),
	},
	spock_output_bytes: {
		type: 'gauge',
		help: 'Output that clients have not read yet',
		read: ({ gauges }) => gauges().outputBytes,
	},
	spock_slow_consumers: {
		type: 'gauge',
		help: 'Connections paused because their client leaves more than outputBytesMax unread',
		read: ({ gauges }) => gauges().slowConsumers,
	},
	spock_subscriptions: {
		type: 'gauge',
		help: 'Subscriptions of all connections',
		read: ({ gauges }) => gauges().subscriptions,
	},
	spock_subscriptions_oversize: {
		type: 'gauge',
		help: 'Subscriptions whose newest answer is too long for a frame; above 0, raise frameBytesMax',
		read: ({ gauges }) => gauges().oversizeSubscriptions,
	},
	spock_pushes_total: {
		type: 'counter',
		help: 'Changes pushed to subscribers',
		labels: { outcome: { sent: '', superseded: 'a newer one came before the client had read it' } },
		on: (count) => ({ pushed: (outcome) => count(outcome) }),
	},
	spock_snapshots_pushed_total: {
		type: 'counter',
		help: 'Changes pushed to subscribers, by form',
		labels: { form: PUSH_FORMS },
		on: (count) => ({
			pushed: (_outcome, form) => {
				if (form !== undefined) count(form);
			},
		}),
	},
	spock_snapshots_pushed_bytes_total: {
		type: 'counter',
		help: 'Bytes of the changes pushed to subscribers, by form',
		labels: { form: PUSH_FORMS },
		on: (count) => ({
			pushed: (_outcome, form, bytes) => {
				if (form !== undefined) count(form, bytes);
			},
		}),
	},
	spock_goaways_total: {
		type: 'counter',
		help: 'Times clients were asked to leave',
		labels: {
			reason: { shutdown: '', upgrade: 'another sidecar has taken the place', token: 'those whose token was removed' },
		},
		on: (count) => ({ goaway: ({ reason }) => count(reason) }),
	},
	spock_limit: {
		type: 'gauge',
		help: 'The limits in force, in the unit of their names',
		labels: { limit: 'the name of a limit' },
		read: ({ limits }) => Object.fromEntries(Object.entries(limits).filter(isNumeric)),
	},
	spock_limit_reached_total: {
		type: 'counter',
		help: 'Times clients reached a limit',
		labels: { limit: LIMITS },
		on: (count) => ({ limited: (limit) => count(limit) }),
	},
	spock_overloads_total: {
		type: 'counter',
		help: 'Overloads, by their signal; the busiest clients are slowed down',
		labels: { signal: SIGNALS },
		on: (count) => ({
			overload: (signals) => {
				for (const signal of signals) count(signal);
			},
		}),
	},
	spock_window_pushes_total: {
		type: 'counter',
		help: 'Changes of how much a client may have in flight',
		labels: { direction: { narrowed: '', widened: '' } },
		on: (count) => ({ windowTold: (direction) => count(direction) }),
	},
	spock_windows_narrowed: {
		type: 'gauge',
		help: 'Connections slowed down by overload',
		read: ({ gauges }) => gauges().narrowed,
	},
	spock_grpc_connections: {
		type: 'gauge',
		help: 'Open connections of the gRPC front',
		read: ({ gauges }) => gauges().grpcConnections,
	},
	spock_grpc_streams: {
		type: 'gauge',
		help: 'Open watch streams of the gRPC front, of services and health',
		read: ({ gauges }) => gauges().grpcStreams,
	},
};

function isNumeric(entry: [string, number | string]): entry is [string, number] {
	return typeof entry[1] === 'number';
}
