/** Durable events. The defaults stand here, and are given to the service: its package is not loaded where no events are taken. */
export const eventsSettings = {
	events: {
		kind: 'text',
		unit: 'directory',
		note: 'none: no events are taken',
		help: 'directory of the log of events, made if it is missing; for this sidecar alone, and on a disk that outlives it',
	},
	eventsBytesMax: {
		kind: 'integer',
		unit: 'bytes',
		default: 268_435_456,
		help: 'most bytes of the log on disk, at least 8 MiB; above it producers wait, and nothing is dropped',
	},
	eventsFreeBytesMin: {
		kind: 'integer',
		unit: 'bytes',
		note: 'a tenth of the file system, at most 1 GiB',
		help: 'bytes of its file system that the log leaves free',
	},
	eventsRetentionMs: {
		kind: 'duration',
		unit: 'ms',
		default: 604_800_000,
		help: 'how long events are kept that every group has done; longer, as long as one has not',
	},
	eventsRetentionBytes: {
		kind: 'integer',
		unit: 'bytes',
		note: 'half of --events-bytes-max',
		help: 'bytes of the log above which events that every group has done are deleted earlier; at most --events-bytes-max',
	},
	eventsStreams: {
		kind: 'list',
		unit: 'names',
		note: 'any',
		help: 'the only streams that events may be written to, separated by commas; others are BAD_REQUEST',
	},
	eventsStore: {
		kind: ['embedded', 'http', 'jetstream', 'relay'],
		unit: 'store',
		default: 'embedded',
		help: 'where streams are kept: in the log itself, at a web server that takes CloudEvents, in NATS JetStream, or in the log of another sidecar',
	},
	eventsStoreStreams: {
		kind: 'list',
		unit: 'names',
		note: 'all',
		help: 'the streams that go to that store, separated by commas; others stay in the log',
	},
	eventsStoreOf: {
		kind: 'list',
		unit: 'pairs',
		help: 'streams with a store of their own: orders=jetstream,audit=http,debug=embedded; before --events-store for these',
	},
	eventsHttpUrl: {
		kind: 'text',
		unit: 'url',
		help: 'where batches of CloudEvents are posted; `{stream}` stands for the stream, `{address}` for an instance of --events-http-service',
	},
	eventsHttpService: {
		kind: 'text',
		unit: 'name',
		help: 'the service in the registry whose instances take them',
	},
	eventsHttpTokenFile: {
		kind: 'text',
		unit: 'path',
		help: 'file with a token that is sent with each batch, as `authorization: Bearer`; read again for each',
	},
	eventsNatsService: {
		kind: 'text',
		unit: 'name',
		help: 'the service in the registry whose instances are the servers of NATS: one that leaves is left, a new one is used',
	},
	eventsNatsServers: {
		kind: 'list',
		unit: 'addresses',
		help: 'the servers of NATS as host:port, separated by commas, where they are not in the registry',
	},
	eventsNatsTokenFile: {
		kind: 'text',
		unit: 'path',
		help: 'file with a token for NATS',
	},
	eventsNatsReplicas: {
		kind: 'integer',
		unit: 'count',
		default: 1,
		help: 'servers of NATS that keep each event of a stream that is made, 1 to 5',
	},
	eventsRelayService: {
		kind: 'text',
		unit: 'name',
		help: 'the service in the registry whose instance is the next sidecar: one that leaves is left, a new one is used',
	},
	eventsRelayAddress: {
		kind: 'text',
		unit: 'address',
		help: 'HOST:PORT or tls://HOST:PORT of the next sidecar, where it is not in the registry',
	},
	eventsRelayTokenFile: {
		kind: 'text',
		unit: 'path',
		help: 'file with the token for the next sidecar; read again for each connection',
	},
	eventsRelayCa: {
		kind: 'text',
		unit: 'path',
		note: 'those of Node for tls://; no TLS with --events-relay-service',
		help: 'authorities of the certificate of the next sidecar, in PEM; read again for each connection',
	},
	eventsRelayCert: {
		kind: 'text',
		unit: 'path',
		help: 'certificate chain that the next sidecar is shown, in PEM, where it requires one; read again for each connection',
	},
	eventsRelayKey: {
		kind: 'text',
		unit: 'path',
		help: 'private key of that certificate, in PEM; read again for each connection',
	},
	eventsRelayCompression: {
		kind: ['auto', 'none'],
		unit: 'kind',
		default: 'auto',
		help: 'how events travel to the next sidecar; auto: with zstd where both have it (Node 22.15), else with deflate',
	},
	eventsDrainMs: {
		kind: 'duration',
		unit: 'ms',
		default: 5000,
		help: 'how long the end of the sidecar may take for events that their store does not hold yet',
	},
} as const;
