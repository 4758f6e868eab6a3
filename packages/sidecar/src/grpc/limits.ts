/** What one gRPC connection and all of them together may have. Every one is there so that no client can take the memory of the others. */

/** Calls of one connection at once, streams among them: more wait at the client. */
export const STREAMS_PER_CONNECTION_MAX = 1000;
/** Streams of Watch and of health, of all connections: the next one is RESOURCE_EXHAUSTED. */
export const STREAMS_MAX = 10_000;
/** Longest request, in bytes: the longest question is a tenth of it. */
export const REQUEST_BYTES_MAX = 65_536;
/** Longest answer, in bytes: what clients read that are not told otherwise. */
export const RESPONSE_BYTES_MAX = 4_194_304;
/** A connection is asked for a sign of life this often, and cut off if none comes in the time below, in milliseconds. */
export const KEEPALIVE_MS = 60_000;
export const KEEPALIVE_TIMEOUT_MS = 20_000;
