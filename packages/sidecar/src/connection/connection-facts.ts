/** What a connection tells of itself, for the status page; sizes in bytes, counts since it was opened. */
export interface ConnectionFacts {
	readonly id: number;
	/** What the client says that it is, null if it said nothing. */
	readonly client: string | null;
	readonly pid: number | null;
	/** By the monotonic clock, in milliseconds. */
	readonly openedAtMs: number;
	readonly subscriptions: number;
	readonly inFlight: number;
	/** What the client has not read. */
	readonly outputBytes: number;
	readonly requests: number;
	readonly bytesRead: number;
	readonly bytesWritten: number;
}
