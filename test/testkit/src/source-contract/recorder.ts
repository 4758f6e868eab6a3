import type { ServiceSnapshot, SnapshotObserver, SpockError } from '@spock/protocol';

/** An observer that keeps what it is told. */
export interface Recorder extends SnapshotObserver {
	readonly snapshots: ServiceSnapshot[];
	readonly errors: SpockError[];
}

/** Makes a recorder. */
export function recorder(): Recorder {
	const snapshots: ServiceSnapshot[] = [];
	const errors: SpockError[] = [];
	return { snapshots, errors, next: (snapshot) => snapshots.push(snapshot), error: (error) => errors.push(error) };
}

/** `host:port` of every instance, sorted. */
export function hostsOf(snapshot: ServiceSnapshot | undefined): string[] | undefined {
	return snapshot?.instances.map(({ host, port }) => `${host}:${port}`).sort();
}
