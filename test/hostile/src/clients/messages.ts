/** What one window of the well-behaved client came to. */
export interface Window {
	/** Round trips of lookups over the wire, in milliseconds. */
	readonly medianMs: number;
	readonly p99Ms: number;
	readonly lookups: number;
	/** Lookups that failed or answered something else, with an example. */
	readonly failed: number;
	readonly example: string | null;
	/** Connections after the first, since the start: none may be lost. */
	readonly reconnects: number;
}

/** To the well-behaved client: measure for so long; or tell which version of the service it was pushed last. */
export type GoodCommand = { readonly kind: 'measure'; readonly durationMs: number } | { readonly kind: 'version' };
export type GoodReply =
	| { readonly kind: 'ready' }
	| ({ readonly kind: 'measured' } & Window)
	| { readonly kind: 'version'; readonly version: number };

/** To an attacker: begin, or let go of everything. */
export type AttackCommand =
	| { readonly kind: 'attack'; readonly attack: string; readonly path: string }
	| { readonly kind: 'stop' };
export type AttackReply =
	| { readonly kind: 'ready' }
	/** It is under way: what must be open is open. */
	| { readonly kind: 'attacking'; readonly note: string }
	| { readonly kind: 'stopped'; readonly connects: number; readonly bytes: number };
