import { DEFAULT_METRICS_SERVICES_MAX } from '../../admin/metrics/metric.ts';
import { DEFAULT_SOCKET_MODE } from '../../listen/listener.ts';

/** Where clients connect, and who may. */
export const listenSettings = {
	socket: {
		kind: 'text',
		unit: 'path',
		note: '/uds/sidecar.sock in a pod, else a private directory of the user; none with --listen',
		help: 'unix domain socket to listen at',
	},
	socketMode: {
		kind: 'mode',
		unit: 'mode',
		default: DEFAULT_SOCKET_MODE as number,
		help: 'permissions of the socket, octal; in quotes in a config file',
	},
	listen: {
		kind: 'text',
		unit: 'address',
		help: 'TCP address, HOST:PORT or tls://HOST:PORT, in place of the socket, or beside it if --socket is given',
	},
	listenAny: { kind: 'boolean', default: false, help: 'allow --listen at an address that other machines can reach' },
	token: { kind: 'text', isSecret: true, help: 'the token that clients must give in hello over TCP' },
	tokenFile: {
		kind: 'text',
		unit: 'file',
		help: 'file with that token, or with lines NAME: TOKEN for apps that may change only their own registrations; of each two during a rotation; read again when it changes',
	},
	tokenOnSocket: { kind: 'boolean', default: false, help: 'require the token on the unix domain socket too' },
	tlsCert: {
		kind: 'text',
		unit: 'file',
		help: 'certificate chain for tls://, in PEM; read again when it changes, as the other two are',
	},
	tlsKey: { kind: 'text', unit: 'file', help: 'private key of that certificate, in PEM' },
	tlsClientCa: {
		kind: 'text',
		unit: 'file',
		note: 'none: clients need no certificate',
		help: 'authorities of the certificates that clients must have, in PEM',
	},
	grpc: {
		kind: 'list',
		unit: 'address',
		help: 'addresses for gRPC: unix:PATH, HOST:PORT or tls://HOST:PORT; repeated or separated by commas (docs/GRPC.md)',
	},
	grpcAny: {
		kind: 'boolean',
		default: false,
		help: 'allow --grpc at an address that other machines can reach, as for probes of a pod',
	},
} as const;

/** Replacing a running sidecar. */
export const takeOverSettings = {
	takeOver: {
		kind: 'boolean',
		default: false,
		help: 'replace the sidecar that listens at the socket, without a failed call; without one, just start',
	},
	takeOverWarmUpMs: {
		kind: 'duration',
		unit: 'ms',
		default: 30_000,
		help: 'how long the registry may take to answer what the old sidecar knows, before the take-over is given up',
	},
	stayWhenReplaced: {
		kind: 'boolean',
		default: false,
		help: 'after a take-over, wait for SIGTERM, or for the end of the new sidecar, instead of exiting: the kubelet would start the old one again',
	},
} as const;

/** The admin port and the log. */
export const reportingSettings = {
	admin: {
		kind: 'text',
		unit: 'host:port',
		help: 'HTTP for the status page, /metrics, /livez and /readyz',
	},
	adminAny: {
		kind: 'boolean',
		default: false,
		help: 'allow --admin at an address that other machines can reach, as in a pod',
	},
	adminAllowedHosts: {
		kind: 'list',
		unit: 'names',
		help: 'further host names that the admin port answers to, separated by commas',
	},
	metricsServicesMax: {
		kind: 'integer',
		unit: 'count',
		default: DEFAULT_METRICS_SERVICES_MAX as number,
		help: 'services whose age is a metric by name, the oldest first',
	},
	logLevel: {
		kind: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
		unit: 'level',
		default: 'info',
		help: 'lowest level that is logged',
	},
	slowRequestMs: {
		kind: 'duration',
		unit: 'ms',
		default: 500,
		help: 'a request with a trace that takes longer is logged with its trace id, as is one that fails',
	},
	logFormat: {
		kind: ['auto', 'pretty', 'json'],
		unit: 'format',
		default: 'auto',
		help: 'auto (pretty on a terminal), pretty or json',
	},
} as const;
