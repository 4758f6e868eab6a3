/** Facts about a connection for the status page; sizes in bytes, counts since it was opened. */
export interface ConnectionFacts {
	readonly id: number;
	/** The client's name from its hello; null without one. */
	readonly client: string | null;
	readonly pid: number | null;
	/** By the monotonic clock, in milliseconds. */
	readonly openedAtMs: number;
	readonly subscriptions: number;
	readonly inFlight: number;
	/** Output that the client has not read. */
	readonly outputBytes: number;
	readonly requests: number;
	readonly bytesRead: number;
	readonly bytesWritten: number;
}
