/** What the app of a pod is told, as JSON in LOOKUP_APP. */
export interface LookupAppSettings {
	readonly service: string;
	/**
	 * `leaves`: at SIGTERM it goes on for `leavesAfterMs` and ends with 0. `stays`: pays no heed to SIGTERM. `ends`: by itself,
	 * with 0, `leavesAfterMs` after its first lookup.
	 */
	readonly manner: 'leaves' | 'stays' | 'ends';
	readonly leavesAfterMs: number;
	/** A Spock that pods share. Default: the sidecar of the pod. */
	readonly shared?: SharedSpock;
	/** What it registers itself as, at the address of its pod. Default: it does not. */
	readonly registers?: string;
}

/** Where a Spock that pods share is, and how to get in: over TLS, or where the socket of a sidecar would be. */
export type SharedSpock =
	| {
			readonly host: string;
			readonly port: number;
			readonly token: string;
			/** Its authority, in PEM. */
			readonly ca: string;
	  }
	| {
			readonly tokenFile: string;
			/** How long a call over the wire may wait. Default: that of the client. */
			readonly timeoutMs?: number;
	  };

/** A line that the app prints, as JSON; `atMs` by the wall clock. */
export type LookupAppLine = { readonly atMs: number } & LookupAppEvent;

export type LookupAppEvent =
	| { readonly event: 'started' | 'connected' | 'registered' | 'SIGTERM' }
	| { readonly event: 'first lookup'; readonly address: string }
	/** The sidecar has gone, or is back. */
	| { readonly event: 'lost' | 'back' }
	| { readonly event: 'failed'; readonly why: string }
	| ({ readonly event: 'tally' } & LookupTally)
	/** The last line of an app that ends by itself. */
	| ({ readonly event: 'left' } & LookupTally);

/** Lookups since the last tally. */
export interface LookupTally {
	readonly lookups: number;
	/** Calls over the wire, which the Spock itself has answered. */
	readonly calls: number;
	readonly failed: number;
	/** Those that were answered as stale, and the least and the greatest of the ages that they were given. */
	readonly stale: number;
	readonly ageMsMin: number;
	readonly ageMsMax: number;
}
