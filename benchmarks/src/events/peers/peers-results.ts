/** Who takes an app's events. */
export type PeerId = 'emit' | 'persisted' | 'stored' | 'nats' | 'dapr' | 'kafka' | 'grpc';

/** Whose process is killed. */
export type KillTarget = 'app' | 'sidecar' | 'broker';

/** What a peer is, what an acknowledgement means, and which of its processes can be killed. */
export interface PeerDescription {
	readonly label: string;
	/** What is true when the app's call is done; by its own documentation. */
	readonly acknowledged: string;
	readonly targets: readonly KillTarget[];
}

export const PEERS: Readonly<Record<PeerId, PeerDescription>> = {
	emit: {
		label: 'Spock, `emit()`',
		acknowledged: 'in the sidecar’s hands after the tick: survives the app',
		targets: ['app', 'sidecar'],
	},
	persisted: {
		label: 'Spock, `publish()`',
		acknowledged: 'on the sidecar’s disk, synced',
		targets: ['app', 'sidecar'],
	},
	stored: {
		label: 'Spock, `publish()` until stored in JetStream',
		acknowledged: 'on the sidecar’s disk and in JetStream',
		targets: ['app', 'sidecar', 'broker'],
	},
	nats: {
		label: 'nats.js, JetStream `publish()` with a message id',
		acknowledged: 'in JetStream, which syncs every two minutes',
		targets: ['app', 'broker'],
	},
	dapr: {
		label: 'Dapr’s daemon, JetStream component, its HTTP API with an event id',
		acknowledged: 'in JetStream, which syncs every two minutes',
		targets: ['app', 'sidecar', 'broker'],
	},
	kafka: {
		label: '@platformatic/kafka, idempotent, to kfake, a broker of tests',
		acknowledged: 'in the broker’s log, not synced, as at Kafka by default',
		targets: ['app', 'broker'],
	},
	grpc: {
		label: 'grpc-js unary, a server that syncs each message',
		acknowledged: 'on the server’s disk, synced',
		targets: ['app', 'broker'],
	},
};

/** One target of the kill loop. */
export interface KillFigure {
	readonly target: KillTarget;
	readonly kills: number;
	/** Events that were acknowledged to the app and are not in the store. */
	readonly lost: number;
	/** Events that the store has more than once. */
	readonly duplicated: number;
	/** Events that were not acknowledged when the app was killed, and are not in the store. */
	readonly unfinished: number;
	/** Events that were acknowledged to the app. */
	readonly acknowledged: number;
}

/** What was measured of one peer. */
export interface PeerFigure {
	readonly peer: PeerId;
	/** Of the app's call, one at a time, in µs. */
	readonly p50Us: number;
	readonly p99Us: number;
	/** With 1,000 calls in flight. */
	readonly eventsPerSecond: number;
	/** Of the machine's processors, that which others than the run's processes took meanwhile. */
	readonly othersShare: number;
	readonly kills: readonly KillFigure[];
}

/** A peer that could not be measured. */
export interface LeftOut {
	readonly peer: PeerId;
	readonly why: string;
}

/** All peers, and who was left out. */
export interface PeersResults {
	readonly takenAt: string;
	readonly commit: string;
	readonly node: string;
	/** Measurements of how quick each is; the median counts. */
	readonly rounds: number;
	/** Of packages and servers, by name. */
	readonly versions: Readonly<Record<string, string>>;
	readonly figures: readonly PeerFigure[];
	readonly leftOut: readonly LeftOut[];
}
