/**
 * Every maximum of the protocol in one place, with the relations between them asserted below.
 * Bytes are bytes of UTF-8; durations are milliseconds.
 */

/** Longest frame, LF not counted, both ways. Sent in hello. */
export const FRAME_BYTES_MAX: number = 1024 * 1024;
/** Longest frame that an option may set; strings in V8 end at about 512 MiB. */
export const FRAME_BYTES_MAX_CEILING: number = 256 * 1024 * 1024;
/** Shortest `frameBytesMax` that still carries every failure and a small snapshot. */
export const FRAME_BYTES_MAX_FLOOR = 1024;
/** Deepest nesting of objects and arrays in a frame. Deeper ones are refused before they are parsed. */
export const JSON_DEPTH_MAX = 128;
/** Requests in flight on one connection. A power of two: it is also the capacity of the client's ring. */
export const IN_FLIGHT_MAX = 65_536;
/** Largest request id. */
export const ID_MAX = 0xffff_ffff;
/** Longest function name, in UTF-16 code units. */
export const FUNC_LENGTH_MAX = 64;
/** Longest service, datacenter, tag or key name. Consul's own DNS limit is 63; names of other registries are longer. */
export const NAME_LENGTH_MAX = 512;
/** Most tags in one query. */
export const QUERY_TAGS_MAX = 32;
/** Longest id of a registration. */
export const REGISTRATION_ID_LENGTH_MAX = 256;
/** Most meta data of a registration: Consul allows 64, of which the sidecar needs a few. */
export const META_COUNT_MAX = 60;
/** Longest name and longest value of meta data; Consul's own limits. */
export const META_NAME_LENGTH_MAX = 128;
export const META_VALUE_LENGTH_MAX = 512;
/** Most tagged addresses of a registration. */
export const TAGGED_ADDRESSES_MAX = 16;
/** Longest note of a report. */
export const NOTE_LENGTH_MAX = 1024;
/** Longest value of a key, in bytes: Consul's default limit (`kv_max_value_size`). */
export const KEY_VALUE_BYTES_MAX: number = 512 * 1024;
/** Longest text of the entries of one answer about keys, as JSON in UTF-8: the rest of its frame is short. */
export const KEY_ENTRIES_BYTES_MAX: number = FRAME_BYTES_MAX - 8192;
/** Longest snapshot or list of services that is sent in parts, and most that a client keeps of one that is not complete. */
export const SNAPSHOT_BYTES_MAX: number = 64 * 1024 * 1024;
/** Most conditions on metadata in one query. */
export const QUERY_META_MAX = 16;
/** Longest `tracestate` of a request, in characters: the minimum that W3C requires to be propagated. Longer ones are ignored. */
export const TRACE_STATE_LENGTH_MAX = 512;
/** Longest text of an event's data, in bytes. */
export const EVENT_BYTES_MAX: number = 512 * 1024;
/** Longest name of a stream, a group or a producer. */
export const STREAM_NAME_LENGTH_MAX = 128;
export const EVENT_KEY_LENGTH_MAX = 512;
export const EVENT_ID_LENGTH_MAX = 128;
/** Largest epoch of a producer, and largest `seq` that it goes on from: a log's records keep 48 bits, which leaves as many to come. */
export const PRODUCER_NUMBER_MAX: number = 2 ** 47;
/** Most headers of an event, and conditions on them in a filter. */
export const EVENT_HEADERS_MAX = 32;
/** Most keys in a filter. */
export const FILTER_KEYS_MAX = 256;
/** Most events out at one consumer, and most bytes of their data. */
export const CONSUMER_IN_FLIGHT_MAX = 4096;
export const CONSUMER_BYTES_MAX: number = 1024 * 1024;
/** Frames in a row that are not a JSON object, after which a connection is closed. */
export const BAD_FRAMES_IN_A_ROW_MAX = 16;
/** Written but not yet taken by the peer, for each connection; above it reading from that connection stops. */
export const OUTPUT_BYTES_MAX: number = 8 * 1024 * 1024;
/** How long a connection may stay above `outputBytesMax` before it is closed as a slow consumer. */
export const SLOW_CONSUMER_MS = 30_000;
/** Longest deadline: the largest delay of a Node timer. */
export const TIMEOUT_MS_MAX: number = 2 ** 31 - 1;
/** The versions of the protocol that this package speaks, best first. */
export const PROTOCOL_VERSIONS: readonly number[] = Object.freeze([1]);

/** The limits in a sidecar's answer to hello. */
export interface WireLimits {
	readonly frameBytesMax: number;
	readonly inFlightMax: number;
}

/**
 * Relations between the limits that the code relies on; the tests assert them. Marked as pure, so that bundles leave out the unused
 * list.
 */
export const limitRelations: readonly (readonly [sentence: string, holds: boolean])[] = /* @__PURE__ */ relateLimits();

function relateLimits(): [sentence: string, holds: boolean][] {
	return [
		['a full output buffer holds several frames of the largest size', OUTPUT_BYTES_MAX >= 4 * FRAME_BYTES_MAX],
		['what is sent in parts is longer than a frame', SNAPSHOT_BYTES_MAX > FRAME_BYTES_MAX],
		['the ring capacity is a power of two', (IN_FLIGHT_MAX & (IN_FLIGHT_MAX - 1)) === 0],
		['ids outlast the ring many times over', ID_MAX + 1 >= IN_FLIGHT_MAX * 1024],
		[
			'a query of the largest size fits into a frame',
			(QUERY_TAGS_MAX + 2 * QUERY_META_MAX + 4) * NAME_LENGTH_MAX * 6 < FRAME_BYTES_MAX,
		],
		[
			'a registration of the largest size fits into a frame',
			(QUERY_TAGS_MAX * NAME_LENGTH_MAX +
				META_COUNT_MAX * (META_NAME_LENGTH_MAX + META_VALUE_LENGTH_MAX) +
				TAGGED_ADDRESSES_MAX * (META_NAME_LENGTH_MAX + NAME_LENGTH_MAX) +
				NOTE_LENGTH_MAX) *
				6 <
				FRAME_BYTES_MAX,
		],
		[
			'a value of the largest size fits into a frame in base64',
			Math.ceil(KEY_VALUE_BYTES_MAX / 3) * 4 + NAME_LENGTH_MAX * 6 < KEY_ENTRIES_BYTES_MAX,
		],
		[
			'entries of the largest size fit into a frame, with the query they answer',
			KEY_ENTRIES_BYTES_MAX + 2 * NAME_LENGTH_MAX * 6 + 512 < FRAME_BYTES_MAX,
		],
		[
			'an event of the largest size fits into a frame, with a delivery or a traced request around it',
			EVENT_BYTES_MAX + TRACE_STATE_LENGTH_MAX * 6 + 512 < FRAME_BYTES_MAX,
		],
		[
			'the option range of frameBytesMax holds its default',
			FRAME_BYTES_MAX_FLOOR <= FRAME_BYTES_MAX && FRAME_BYTES_MAX <= FRAME_BYTES_MAX_CEILING,
		],
	];
}
