import type { RegisterServiceData } from '@spock/protocol';

/** What an app of this suite is started with. */
export interface AppSettings {
	/** URL of the client's module. */
	readonly client: string;
	/** The sidecar's socket, or its address, with the URL of the module that connects there. */
	readonly at: { readonly path: string } | (TlsAddress & { readonly transport: string });
}

/** Where a sidecar is reached over TLS, and what is needed for that. */
export interface TlsAddress {
	readonly host: string;
	readonly port: number;
	readonly caFile: string;
	readonly tokenFile: string;
}

/** What an app is asked; it answers with a reply of the same kind. */
export type AppCommand =
	| { readonly kind: 'watch'; readonly service: string }
	/** The newest view of a service that it watches. */
	| { readonly kind: 'watched'; readonly service: string }
	/** One lookup of all instances, with its age. */
	| { readonly kind: 'fetch'; readonly service: string; readonly maxAgeMs?: number }
	| { readonly kind: 'key'; readonly key: string }
	| { readonly kind: 'explain'; readonly service: string }
	| { readonly kind: 'register'; readonly registration: RegisterServiceData }
	| { readonly kind: 'deregister' }
	/** Looks a service up, if `fresh` at the sidecar, until `loaded`, which returns how often, and what has failed. */
	| { readonly kind: 'load'; readonly service: string; readonly fresh: boolean }
	| { readonly kind: 'loaded' }
	| { readonly kind: 'status' };

export interface AppReply {
	readonly kind: AppCommand['kind'] | 'ready';
	readonly value: unknown;
}

/** What `loaded` returns. */
export interface LoadResult {
	readonly lookups: number;
	readonly failures: readonly string[];
}
