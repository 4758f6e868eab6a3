import type { CloseReason, LimitName, OverloadSignal, TlsFailure } from '../../foundation/observer.ts';
import type { MetricFacts } from './metric-facts.ts';

const CODES = '`ok` or an error code of the protocol';

const CLOSE_REASONS: Readonly<Record<CloseReason, string>> = {
	client: 'the client has left',
	error: 'the connection broke',
	'bad-frames': 'too many lines in a row that are no frames',
	'frame-too-large': '',
	'partial-frame': 'stopped in the middle of a frame',
	handshake: 'said nothing after connecting',
	denied: 'no token, or a wrong one',
	full: 'its token was good, and connectionsMax were open',
	'slow-consumer': 'left its answers unread for too long',
	silent: 'over TCP, missed three heartbeats: its machine is gone, or it hangs',
	shutdown: 'the sidecar ends, or another has its place',
};

const LIMITS: Readonly<Record<LimitName, string>> = {
	frameBytesMax: '',
	inFlightMax: '',
	inFlightTotalMax: '',
	connectionsMax: '',
	strangersMax: 'who came by TCP and has shown no token made room for another',
	subscriptionsMax: '',
	outputBytesMax: 'a client that does not read is not read either',
	slowConsumerMs: '',
	partialFrameMs: '',
	handshakeMs: '',
	badFramesInARowMax: '',
	framesPerTurnMax: 'a busy client gives way to the others, which is no fault',
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
	closed: 'often the same, said with no word',
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
	ServerReflectionInfo: 'refused alone',
};

const DIRECTIONS = { read: 'from clients', written: 'to clients' };

/** Metrics of what clients do, and how the sidecar bears it. */
export const loadMetrics: Readonly<Record<string, MetricFacts>> = {
	spock_requests_total: {
		type: 'counter',
		help: 'Requests answered, by function and outcome',
		labels: { func: 'a function of the protocol, or `other`', code: CODES },
	},
	spock_request_duration_seconds: {
		type: 'histogram',
		help: 'Time from the reading of a request to its answer, in the sidecar; 10 µs is a known answer',
		labels: { func: 'as above' },
	},
	spock_requests_in_flight: { type: 'gauge', help: 'Requests that wait for an answer now, mostly of the registry' },
	spock_connections: { type: 'gauge', help: 'Connections open now' },
	spock_connections_opened_total: { type: 'counter', help: 'Connections accepted' },
	spock_connections_closed_total: {
		type: 'counter',
		help: 'Connections that have ended, by reason',
		labels: { reason: CLOSE_REASONS },
	},
	spock_connections_refused_total: {
		type: 'counter',
		help: 'Connections closed at once, because connectionsMax were open',
	},
	spock_accepts_failed_total: {
		type: 'counter',
		help: "Connections that could not be accepted, by the kernel's error; the sidecar goes on",
		labels: { code: ACCEPT_ERRORS },
	},
	spock_tls_handshakes_failed_total: {
		type: 'counter',
		help: 'TLS handshakes that failed, by reason',
		labels: { reason: TLS_FAILURES },
	},
	spock_connection_bytes_total: {
		type: 'counter',
		help: 'Bytes of all connections, those that have ended too',
		labels: { direction: DIRECTIONS },
	},
	spock_output_bytes: { type: 'gauge', help: 'Output that clients have not read, now' },
	spock_slow_consumers: {
		type: 'gauge',
		help: 'Connections that are not read now, because their client leaves more than outputBytesMax unread',
	},
	spock_subscriptions: { type: 'gauge', help: 'Subscriptions of all connections now' },
	spock_subscriptions_oversize: {
		type: 'gauge',
		help: 'Subscriptions whose newest answer is too long for the frames of their client; above 0, raise frameBytesMax',
	},
	spock_pushes_total: {
		type: 'counter',
		help: 'Pushes of changes to subscribers',
		labels: { outcome: { sent: '', superseded: 'a newer one came before the client had read' } },
	},
	spock_goaways_total: {
		type: 'counter',
		help: 'Times that all clients were asked to leave',
		labels: { reason: { shutdown: '', upgrade: 'another sidecar has taken the place' } },
	},
	spock_limit: {
		type: 'gauge',
		help: 'The limits in force, in the unit of their name',
		labels: { limit: 'the name of a limit, as in the table of limits' },
	},
	spock_limit_reached_total: {
		type: 'counter',
		help: 'Times that clients ran into a limit',
		labels: { limit: LIMITS },
	},
	spock_overloads_total: {
		type: 'counter',
		help: 'Overloads begun, by what showed them: the greediest clients are asked for less',
		labels: { signal: SIGNALS },
	},
	spock_window_pushes_total: {
		type: 'counter',
		help: 'Times that a client was told how much it may have in flight',
		labels: { direction: { narrowed: 'less', widened: 'more again' } },
	},
	spock_windows_narrowed: { type: 'gauge', help: 'Connections that are asked for less now' },
	spock_grpc_requests_total: {
		type: 'counter',
		help: 'Calls of the gRPC front that have ended, by method and status',
		labels: { method: GRPC_METHODS, code: 'a status of gRPC: `OK`, `NOT_FOUND`, …' },
	},
	spock_grpc_connections: { type: 'gauge', help: 'Connections of the gRPC front now' },
	spock_grpc_streams: {
		type: 'gauge',
		help: 'Streams of the gRPC front now that tell changes, of services or of health',
	},
	spock_event_loop_delay_seconds: {
		type: 'histogram',
		help: 'How late a timer was that is due five times a second: what a request waits before it is read',
	},
};
