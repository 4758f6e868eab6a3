import type { CloseReason, LimitName, OverloadSignal, TlsFailure } from '../../foundation/observer.ts';
import type { MetricFacts } from './metric-facts.ts';

const CODES = '`ok` or an error code of the protocol';

const CLOSE_REASONS: Readonly<Record<CloseReason, string>> = {
	client: 'the client has left',
	error: 'the connection broke',
	'bad-frames': 'too many invalid frames in a row',
	'frame-too-large': '',
	'partial-frame': 'stopped in the middle of a frame',
	handshake: 'no frame after connecting',
	denied: 'no token, or a wrong one',
	full: 'the token was good, but connectionsMax were open',
	'slow-consumer': 'left its answers unread for too long',
	silent: 'over TCP, missed three heartbeats: its machine is gone, or it hangs',
	shutdown: 'the sidecar ends, or another has its place',
};

const LIMITS: Readonly<Record<LimitName, string>> = {
	frameBytesMax: '',
	inFlightMax: '',
	inFlightTotalMax: '',
	connectionsMax: '',
	strangersMax: 'a TCP connection without a token made room for another',
	subscriptionsMax: '',
	outputBytesMax: 'the sidecar stops reading from a client that does not read',
	slowConsumerMs: '',
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

/** Of those the kernel has for accept(2), the ones that a listener survives. */
const ACCEPT_ERRORS = { EMFILE: '', ENFILE: 'the machine has no more open files', ENOBUFS: '', ENOMEM: '', other: '' };

const GRPC_METHODS = {
	Get: '',
	Watch: '',
	List: '',
	Explain: '',
	Check: 'of health',
	HealthWatch: '',
	ServerReflectionInfo: 'only if refused',
};

const DIRECTIONS = { read: 'from clients', written: 'to clients' };

/** Metrics of what clients do, and how the sidecar copes. */
export const loadMetrics: Readonly<Record<string, MetricFacts>> = {
	spock_requests_total: {
		type: 'counter',
		help: 'Requests answered, by function and outcome',
		labels: { func: 'a function of the protocol, or `other`', code: CODES },
	},
	spock_request_duration_seconds: {
		type: 'histogram',
		help: 'Time in the sidecar from reading a request to its answer; about 10 µs for a known answer',
		labels: { func: 'as above' },
	},
	spock_requests_in_flight: { type: 'gauge', help: 'Requests waiting for an answer, mostly of the registry' },
	spock_connections: { type: 'gauge', help: 'Open connections' },
	spock_connections_opened_total: { type: 'counter', help: 'Connections accepted' },
	spock_connections_closed_total: {
		type: 'counter',
		help: 'Connections ended, by reason',
		labels: { reason: CLOSE_REASONS },
	},
	spock_connections_refused_total: {
		type: 'counter',
		help: 'Connections closed at once, because connectionsMax were open',
	},
	spock_accepts_failed_total: {
		type: 'counter',
		help: "Connections that could not be accepted, by the kernel's error",
		labels: { code: ACCEPT_ERRORS },
	},
	spock_tls_handshakes_failed_total: {
		type: 'counter',
		help: 'Failed TLS handshakes, by reason',
		labels: { reason: TLS_FAILURES },
	},
	spock_connection_bytes_total: {
		type: 'counter',
		help: 'Bytes of all connections, ended ones included',
		labels: { direction: DIRECTIONS },
	},
	spock_output_bytes: { type: 'gauge', help: 'Output that clients have not read yet' },
	spock_slow_consumers: {
		type: 'gauge',
		help: 'Connections paused because their client leaves more than outputBytesMax unread',
	},
	spock_subscriptions: { type: 'gauge', help: 'Subscriptions of all connections' },
	spock_subscriptions_oversize: {
		type: 'gauge',
		help: 'Subscriptions whose newest answer is too long for a frame; above 0, raise frameBytesMax',
	},
	spock_pushes_total: {
		type: 'counter',
		help: 'Changes pushed to subscribers',
		labels: { outcome: { sent: '', superseded: 'a newer one came before the client had read it' } },
	},
	spock_goaways_total: {
		type: 'counter',
		help: 'Times all clients were asked to leave',
		labels: { reason: { shutdown: '', upgrade: 'another sidecar has taken the place' } },
	},
	spock_limit: {
		type: 'gauge',
		help: 'The limits in force, in the unit of their names',
		labels: { limit: 'the name of a limit' },
	},
	spock_limit_reached_total: {
		type: 'counter',
		help: 'Times clients reached a limit',
		labels: { limit: LIMITS },
	},
	spock_overloads_total: {
		type: 'counter',
		help: 'Overloads, by their signal; the busiest clients are slowed down',
		labels: { signal: SIGNALS },
	},
	spock_window_pushes_total: {
		type: 'counter',
		help: 'Changes of how much a client may have in flight',
		labels: { direction: { narrowed: '', widened: '' } },
	},
	spock_windows_narrowed: { type: 'gauge', help: 'Connections slowed down by overload' },
	spock_grpc_requests_total: {
		type: 'counter',
		help: 'Calls of the gRPC front, by method and status',
		labels: { method: GRPC_METHODS, code: 'a status of gRPC: `OK`, `NOT_FOUND`, …' },
	},
	spock_grpc_connections: { type: 'gauge', help: 'Open connections of the gRPC front' },
	spock_grpc_streams: {
		type: 'gauge',
		help: 'Open watch streams of the gRPC front, of services and health',
	},
	spock_event_loop_delay_seconds: {
		type: 'histogram',
		help: 'Delay of a timer due five times a second: how long a request waits before it is read',
	},
};
