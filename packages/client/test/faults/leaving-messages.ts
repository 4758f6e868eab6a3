/** What an app that is asked to leave is started with. */
export interface LeavingSettings {
	readonly path: string;
	readonly services: readonly string[];
	/** How long it goes on working after SIGTERM; null: it never leaves. */
	readonly leavesAfterMs: number | null;
}

/** `report` comes when it leaves, or when it is asked. */
export type LeavingReply =
	| { readonly kind: 'ready' }
	| {
			readonly kind: 'report';
			/** Of known services, from the snapshot. */
			readonly lookups: number;
			readonly lookupsFailed: number;
			/** Calls over the wire. */
			readonly wire: number;
			readonly wireFailed: number;
			readonly example: string | null;
	  };
