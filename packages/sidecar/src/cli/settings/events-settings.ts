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
	eventsDrainMs: {
		kind: 'duration',
		unit: 'ms',
		default: 5000,
		help: 'how long the end of the sidecar may take for events that their store does not hold yet',
	},
} as const;
