/** What an app of the fault suite is started with. */
export interface AppSettings {
	readonly path: string;
	readonly services: readonly string[];
	/** Calls that are kept in flight. */
	readonly inFlight: number;
	readonly heartbeatMs: number;
	readonly stableMs: number;
}

/** What an app is told; it answers with a reply of the same kind. `leave` is what SIGTERM does, with an end to it. */
export type AppCommand =
	/** Puts its calls in flight, and keeps them there until they fail. `timeoutMs`: of each call. */
	| { readonly kind: 'load'; readonly timeoutMs: number }
	/** Answers when the client has noticed that its connection is gone. */
	| { readonly kind: 'lost' }
	/** Stops asking, waits until each call has settled and the client is connected, and tells what happened since `load`. */
	| { readonly kind: 'result' };

/** What the calls of one round came to. */
export interface RoundResult {
	/** Calls made. Each is in exactly one of the next four. */
	readonly calls: number;
	readonly answered: number;
	/** DISCONNECTED: the reply cannot come any more. */
	readonly rejected: number;
	/** TIMEOUT: its deadline was over. */
	readonly timedOut: number;
	/** Ended in any other way. */
	readonly strange: number;
	/** Settled more than once; counted where this Node tells (`multipleResolves`). */
	readonly settledTwice: number;
	/** Answered with what another call had asked for. */
	readonly misdelivered: number;
	/** Answers that came after their caller had timed out. */
	readonly lateReplies: number;
	/** Lookups of known services, beside the calls: in the process, and over the wire. */
	readonly lookups: number;
	readonly lookupsFailed: number;
	/** Calls that were in flight when the fault came. */
	readonly inFlightAtLoss: number;
	/** From the close of the connection to the last rejection; null if none was rejected. */
	readonly rejectionMs: number | null;
	/** From the close as a bare socket of the same process saw it to the last rejection; null as above. */
	readonly rejectionAfterBareMs: number | null;
	/** From the moment that a bare socket of the same process was answered again until the client was ready; null: never lost. */
	readonly backMs: number | null;
	readonly examples: readonly string[];
}

export type AppReply =
	| { readonly kind: 'ready' }
	| { readonly kind: 'load' }
	| { readonly kind: 'lost' }
	| ({ readonly kind: 'result' } & RoundResult);
