import {
	CONSUMER_IN_FLIGHT_MAX,
	type ConsumeFrom,
	type ConsumeOrder,
	type EventFilter,
	type OpenConsumerData,
	validateOpenConsumer,
} from '@spock/protocol';
import { durationMsOption, integerOption, knownMembers, signalOption, wrongType } from '@spock/protocol/internal';

/** Events that may be out at one consumer. */
export const DEFAULT_CONSUMER_IN_FLIGHT_MAX = 64;
/** How long an event may be out without a word, in milliseconds. */
export const DEFAULT_ACK_WAIT_MS = 30_000;
/** Deliveries of one event before it is a dead letter. */
export const DEFAULT_ATTEMPTS = 5;
/** Handlers that run at once. */
export const DEFAULT_CONCURRENCY = 1;

/** Options of `events.consume`. Wrong ones throw at the call. */
export interface ConsumeOptions {
	/**
	 * Members of a group share its events, also across processes; what one of them has acked no other gets. Without a group it is a
	 * reader of its own, whose place is known to this process alone. 1 to 128 letters, digits, `_`, `.` and `-`.
	 */
	readonly group?: string;
	/** Where a reader, or a group that is new, begins. Default `new`. */
	readonly from?: ConsumeFrom;
	/** Most events that are out, i.e. delivered and not acked. Default 64, 1 to 4096. */
	readonly inFlightMax?: number;
	/** An event that is neither acked nor extended for so long is delivered again. Default 30000. */
	readonly ackWaitMs?: number;
	/** Deliveries of one event before it goes to the stream `<stream>.dead`. Default 5; 0: without end. */
	readonly attempts?: number;
	/** `key`: no two events of a key are out at a time. `stream`: no two at all. One for a group. Default `none`. */
	readonly order?: ConsumeOrder;
	/** Only these events are sent; the others count as acked. Default: all. */
	readonly filter?: EventFilter;
	/** Stops to take events. What was handed out may still be acked. */
	readonly signal?: AbortSignal;
}

/** Options of `events.handle`. Wrong ones throw at the call. */
export interface HandleOptions extends ConsumeOptions {
	/** Most handlers that run at once. Default 1, 1 to 4096. */
	readonly concurrency?: number;
	/**
	 * A handler that runs longer has failed: its signal aborts and its event is delivered again. Until it returns, its place and its
	 * key stay taken. In milliseconds. Default: without end.
	 */
	readonly handlerTimeoutMs?: number;
	/**
	 * When an event is delivered again after a failure, in milliseconds, from the number of its delivery: 1 for the first. Default: the
	 * sidecar's back-off, 1 s doubled with each delivery up to 5 min, with jitter.
	 */
	readonly retryDelayMs?: (delivery: number) => number;
}

/** Options of a consumer, each with its value. */
export interface ResolvedConsume {
	/** As it is opened; what was not given has its default. */
	readonly open: OpenConsumerData &
		Required<Pick<OpenConsumerData, 'inFlightMax' | 'ackWaitMs' | 'attempts' | 'order'>>;
	readonly signal: AbortSignal | undefined;
}

export interface ResolvedHandle extends ResolvedConsume {
	readonly concurrency: number;
	readonly handlerTimeoutMs: number | undefined;
	readonly retryDelayMs: ((delivery: number) => number) | undefined;
}

const CONSUME_OPTIONS: readonly string[] = [
	...['group', 'from', 'inFlightMax', 'ackWaitMs', 'attempts', 'order', 'filter', 'signal'],
];
const HANDLE_OPTIONS: readonly string[] = [...CONSUME_OPTIONS, 'concurrency', 'handlerTimeoutMs', 'retryDelayMs'];

/** Throws a TypeError for an unknown or a wrong option, BAD_REQUEST for what the sidecar would refuse. */
export function resolveConsume(stream: string, options: ConsumeOptions): ResolvedConsume {
	knownMembers('option', options, CONSUME_OPTIONS);
	return resolved(stream, options, DEFAULT_CONSUMER_IN_FLIGHT_MAX);
}

/** As `resolveConsume`. */
export function resolveHandle(stream: string, options: HandleOptions): ResolvedHandle {
	knownMembers('option', options, HANDLE_OPTIONS);
	const { handlerTimeoutMs, retryDelayMs } = options;
	const concurrency = integerOption(
		'concurrency',
		options.concurrency ?? DEFAULT_CONCURRENCY,
		1,
		CONSUMER_IN_FLIGHT_MAX,
	);
	if (retryDelayMs !== undefined && typeof retryDelayMs !== 'function') {
		throw wrongType('retryDelayMs', "a function of the delivery's number", retryDelayMs);
	}
	// Twice the handlers: the next event is here when one ends.
	const inFlight = Math.min(CONSUMER_IN_FLIGHT_MAX, Math.max(DEFAULT_CONSUMER_IN_FLIGHT_MAX, 2 * concurrency));
	return {
		...resolved(stream, options, inFlight),
		concurrency,
		handlerTimeoutMs:
			handlerTimeoutMs === undefined ? undefined : durationMsOption('handlerTimeoutMs', handlerTimeoutMs),
		retryDelayMs,
	};
}

function resolved(stream: string, options: ConsumeOptions, byDefault: number): ResolvedConsume {
	const { signal, ...asked } = options;
	const {
		inFlightMax = byDefault,
		ackWaitMs = DEFAULT_ACK_WAIT_MS,
		attempts = DEFAULT_ATTEMPTS,
		order = 'none',
	} = asked;
	const open = validateOpenConsumer({ ...asked, stream, inFlightMax, ackWaitMs, attempts, order });
	return {
		// Each of the four was given.
		open: open as ResolvedConsume['open'],
		signal: signalOption('signal', signal),
	};
}
