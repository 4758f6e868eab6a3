/** The services that every instance is registered as, each at a port of its own. */
export const HTTP_SERVICE = 'rolling-http';
export const GRPC_SERVICE = 'rolling-grpc';

/** What the process of an instance is told, as JSON in its one argument. */
export interface InstanceSettings {
	/** Where the sidecar listens. */
	readonly socket: string;
	/** What it answers each request with. */
	readonly name: string;
	/** Where it listens; 0 for any free port. */
	readonly ports: InstancePorts;
	/** How long a request takes it, in milliseconds. */
	readonly workMs: number;
	/** How long it goes on serving after it has left the registry, in milliseconds. */
	readonly preStopMs: number;
}

export interface InstancePorts {
	readonly http: number;
	readonly grpc: number;
}

/** The ways to call the services: see `WAYS`. */
export type WayName = 'undici' | 'http' | 'grpc' | 'acquire' | 'dns-http' | 'dns-http-once' | 'dns-grpc';

/** What the process of a client is told, as JSON in its one argument. */
export interface ClientSettings {
	readonly way: WayName;
	readonly socket: string;
	/** Requests a second. */
	readonly rate: number;
	/** How long what a name resolved to is used, in milliseconds. */
	readonly dnsTtlMs: number;
}

/** What the process of a client is told on its standard input, one line of JSON each; both are answered by one. */
export type ClientCommand = { readonly kind: 'begin' } | { readonly kind: 'end' };

/** What the process of a client found. */
export interface ClientReport extends Tally {
	/** Time on a processor for each request, in microseconds. */
	readonly processorUs: number;
}

/** What became of the requests of a client. */
export interface Tally {
	readonly requests: number;
	/** Of these, never made, because too many waited for their answers: the machine is too slow for the measurement. */
	readonly turnedAway: number;
	/** Requests that failed, by error. */
	readonly failures: Readonly<Record<string, number>>;
	/** Some of their messages. */
	readonly examples: readonly string[];
	/** Second and later tries at other instances. */
	readonly retries: number;
	/** From when a request was due to its answer, in milliseconds; failed requests are not in it. */
	readonly p50Ms: number;
	readonly p99Ms: number;
	readonly maxMs: number;
	/** Requests answered, by the name of the instance. */
	readonly answered: Readonly<Record<string, number>>;
}
