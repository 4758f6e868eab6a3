/** The invariants that the simulation checks. */
export const INVARIANTS = [
	/** Every call ends once, at most 15 ms after its deadline (more if its process was stopped); a request has at most one reply. */
	'settles once and in time',
	/** Pings carry their sender, instances carry service and version. */
	'answers reach their caller',
	/** Each answer is compared with the version that it claims to be. */
	'answers are what the registry had',
	/** `verifiedAt`, `stale` and `maxAgeMs` are what the registry's history says; nothing is live without a connection. */
	'ages are true',
	/** After one success a lookup fails only where the registry said that the service is empty. */
	'a known lookup goes on',
	/**
	 * A lookup without a greatest age fails only with an answer, such as a denial, if within four fifths of its time everything between the
	 * app and the registry was well for 3 s without a break, and for 0.75 s more with each sidecar behind the first.
	 */
	'what may be answered is waited for',
	/** No instance of a service whose calls never failed is ejected. */
	'failures stay with whom they are of',
	/** After a calm every client has the newest version, live. */
	'changes arrive',
	/** After a calm the registry has the last acknowledged registration of each living app, and none of a dead one. */
	'nothing acknowledged is lost',
	/** An app that is registered, well and connected is served again within 45 s of the loss of its server, also of one that stays away. */
	'a registration outlives its server',
	/** No reader finds it well at two servers, except what a server has that has just returned. */
	'an instance is registered once',
	/** Per connection and query; no push comes before the reply to its subscription. */
	'revisions never go back',
	/** It is served only if it was the first one, or lasted for the hold. */
	'an empty answer is held back',
	/** Calls in flight and waiting stay within their limits. */
	'memory is bounded',
	/** Closed clients and ended sidecars have no timer, connection, reader or query. */
	'nothing leaks',
	/** The client dials again within its retry delay. */
	'goaway is heeded',
	/** A silent peer is found after at most four heartbeats and a second, and its registrations become critical, then leave; other apps are not touched. */
	'silence is noticed',
	/** After an error or an index that went back, the query has index 0. */
	'a watch asks anew',
	/** A sidecar ends within grace, drain deadline and 4 s of SIGTERM. */
	'the life cycle ends',
	/** No uncaught error, no INTERNAL, no frame that the other side cannot read. */
	'no fault escapes',
	/** Calls reject only with the codes that are documented for them. */
	'errors are those that may come',
	/** What an app was told to be persisted is in the log, also after a loss of power. */
	'a persisted event is kept',
	/** The log has each event once, those of a producer in order and without a gap, and a group handles the events of a key in order. */
	'events keep their order',
	/** After a calm a group has handled every event of its stream, or it is a dead letter; what it has settled does not come again. */
	'every event is handled',
	/** The product takes no time, timer or random number from the process. */
	'time and chance are given',
] as const;

export type Invariant = (typeof INVARIANTS)[number];

/** The product has broken a promise. */
export class Violation extends Error {
	readonly invariant: Invariant;

	constructor(invariant: Invariant, message: string) {
		super(message);
		this.name = 'Violation';
		this.invariant = invariant;
	}
}
