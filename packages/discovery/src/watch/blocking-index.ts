/** What an answer's index means for the next query. */
export interface IndexReading {
	/** The index to ask with next; 0 does not block. */
	readonly index: number;
	/** True when the registry's index is lower than the one it gave before: a restored or restarted server. */
	readonly wentBack: boolean;
}

/**
 * The index rules of blocking queries. An index that went back is dropped: a larger index than the server's would block
 * for the whole wait. A returned 0 counts as 1, because 0 never blocks and the loop would spin.
 * Source: https://developer.hashicorp.com/consul/api-docs/features/blocking
 */
export function readIndex(previous: number, returned: number): IndexReading {
	if (returned < previous) return { index: 0, wentBack: true };
	return { index: Math.max(1, returned), wentBack: false };
}

/** The value of X-Consul-Index; undefined when it is missing or no index, which makes the answer an error. */
export function parseIndex(header: string | string[] | undefined): number | undefined {
	if (typeof header !== 'string' || !/^\d{1,16}$/.test(header)) return undefined;
	const index = Number(header);
	return Number.isSafeInteger(index) ? index : undefined;
}
