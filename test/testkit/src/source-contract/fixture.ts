import type { ServiceSnapshot, ServiceSource, SnapshotObserver, SpockError } from '@spock/protocol';

/** What the suite needs of whoever runs it: a source, and a hand on the registry behind it. */
export interface SourceFixture extends AsyncDisposable {
	readonly source: ServiceSource;
	/** Makes these `host:port` the passing instances of a service, all with these tags; none takes the service out. */
	setService(service: string, hosts: readonly string[], tags?: readonly string[]): void | Promise<void>;
	/** While true the registry gives no first answer (it is held, or refused). Needed unless the source is embedded. */
	holdAnswers?(isHeld: boolean): void | Promise<void>;
	/** While true the registry, or the sidecar, is out of reach. Needed unless the source is embedded. */
	cutOff?(isCut: boolean): void | Promise<void>;
	/** A datacenter that queries may name. Left out: none. */
	readonly datacenter?: string;
}

/** What a source is like. */
export interface SourceTraits {
	/** True if the registry is in this process, so that it always answers, and at once. Default false. */
	readonly isEmbedded?: boolean;
	/** False if the registry cannot list its services. Default true. */
	readonly canList?: boolean;
	/** False if queries may have no tags. Default true. */
	readonly hasTags?: boolean;
	/** False where no datacenter may be asked for. Default true. */
	readonly hasDatacenter?: boolean;
}

/** Makes a source and its registry anew. */
export type MakeFixture = () => Promise<SourceFixture>;

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
