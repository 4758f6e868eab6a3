/** A command to an app that hands events to a peer. */
export type PeerCommand =
	/** So many calls one at a time, then as many as go through in this time; answered by a {@link PeerSpeed}. */
	| { readonly kind: 'measure'; readonly calls: number; readonly throughputMs: number }
	/** Numbered events from here on, until `stop` comes or it is killed. */
	| { readonly kind: 'flow'; readonly from: number }
	/** Ends the flow, and the process, when all is done. */
	| { readonly kind: 'stop' };

/** How quick a peer is. */
export interface PeerSpeed {
	readonly p50Us: number;
	readonly p99Us: number;
	readonly eventsPerSecond: number;
}
