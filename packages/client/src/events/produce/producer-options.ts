import { isStreamName, STREAM_NAME_LENGTH_MAX } from '@spock/protocol';
import { durationMsOption, integerOption, wrongType } from '@spock/protocol/internal';

/** Buffered bytes above which `emit` returns false and `publish` waits. */
export const DEFAULT_HIGH_WATER_BYTES: number = 1024 * 1024;
/** Most bytes in the buffer. */
export const DEFAULT_BUFFER_BYTES_MAX: number = 16 * 1024 * 1024;
/** Most events in the buffer. */
export const DEFAULT_BUFFER_EVENTS_MAX = 65_536;
/** How long nothing may be persisted, in milliseconds, before the uplink is replaced. */
export const DEFAULT_STALL_MS = 10_000;
/** How long a drain waits for what is not persisted, in milliseconds. */
export const DEFAULT_DRAIN_TIMEOUT_MS = 10_000;

/** Largest buffer that an option may ask for. */
const BYTES_MAX = 2 ** 30;
const EVENTS_MAX = 2 ** 20;

/** What `openEvents` may be told about sending. Wrong options throw at the call, naming the option and its value. */
export interface ProducerOptions {
	/**
	 * Names this producer, 1 to 128 letters, digits, `_`, `.` and `-`: a later process of the same name takes its place, and what an
	 * older one still sends is refused. Default: a UUID.
	 */
	readonly producer?: string;
	/**
	 * Buffered bytes above which `emit` returns false, and `publish` waits for room. At most `bufferBytesMax`. Default 1 MiB; 64 KiB to
	 * 8 MiB is sensible.
	 */
	readonly highWaterBytes?: number;
	/**
	 * Most bytes of events that are not persisted, with those of `publish` that wait for room; above it `emit` throws OVERLOADED. It
	 * bounds how long the sidecar may be away. Default 16 MiB, at most 1 GiB.
	 */
	readonly bufferBytesMax?: number;
	/** Most such events; `emit` returns false from half of them. Default 65536, at most 1048576. */
	readonly bufferEventsMax?: number;
	/**
	 * How long nothing may be persisted while the sidecar has room, in milliseconds; then another uplink is opened. It is noticed after
	 * at most twice that time. Default 10000; below 1000 a slow disk looks like a lost connection.
	 */
	readonly stallMs?: number;
	/** How long `drain` waits for what is not persisted, in milliseconds. Default 10000. */
	readonly drainTimeoutMs?: number;
}

/** Every option with its value; frozen. */
export type ResolvedProducerOptions = Readonly<Required<ProducerOptions>>;

export const PRODUCER_OPTION_NAMES: readonly (keyof ProducerOptions)[] = [
	...(['producer', 'highWaterBytes', 'bufferBytesMax', 'bufferEventsMax', 'stallMs', 'drainTimeoutMs'] as const),
];

/** Throws a RangeError or a TypeError naming the option. */
export function resolveProducerOptions(options: ProducerOptions): ResolvedProducerOptions {
	const {
		producer = crypto.randomUUID(),
		bufferBytesMax = DEFAULT_BUFFER_BYTES_MAX,
		highWaterBytes = Math.min(DEFAULT_HIGH_WATER_BYTES, bufferBytesMax),
		bufferEventsMax = DEFAULT_BUFFER_EVENTS_MAX,
		stallMs = DEFAULT_STALL_MS,
		drainTimeoutMs = DEFAULT_DRAIN_TIMEOUT_MS,
	} = options;
	if (!isStreamName(producer)) {
		throw wrongType('producer', `1 to ${STREAM_NAME_LENGTH_MAX} letters, digits, "_", "." or "-"`, producer);
	}
	integerOption('bufferBytesMax', bufferBytesMax, 1024, BYTES_MAX);
	return Object.freeze({
		producer,
		bufferBytesMax,
		highWaterBytes: integerOption('highWaterBytes', highWaterBytes, 1, bufferBytesMax),
		bufferEventsMax: integerOption('bufferEventsMax', bufferEventsMax, 1, EVENTS_MAX),
		stallMs: durationMsOption('stallMs', stallMs),
		drainTimeoutMs: durationMsOption('drainTimeoutMs', drainTimeoutMs),
	});
}
