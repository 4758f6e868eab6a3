import { isStreamName, STREAM_NAME_LENGTH_MAX } from '@spock/protocol';
import {
	durationMsOption,
	integerOption,
	isObject,
	knownMembers,
	oneOfOption,
	signalOption,
	wrongType,
} from '@spock/protocol/internal';
import type { EmitOptions } from './encode-event.ts';

/** Events that `read` is asked for at once. */
export const DEFAULT_RELAY_EVENTS_MAX = 500;
/** How long a relay waits before it reads again, in milliseconds, when there was nothing to read. */
export const DEFAULT_RELAY_POLL_MS = 1000;

const EVENTS_MAX = 65_536;
const LEVELS = ['persisted', 'stored'] as const;

/** An event as it is read from an outbox, for a stream of any name. */
export interface AnyRelayedEvent extends EmitOptions {
	/** Its place in the outbox, and the id of the event: 1 to 128 characters. */
	readonly id: string;
	readonly stream: string;
	readonly payload: unknown;
}

/** Options of `relay`. Wrong ones throw at the call, naming the option and its value. */
export interface RelayOptions<Event extends AnyRelayedEvent = AnyRelayedEvent> {
	/**
	 * The name under which the sidecar remembers how far the relay has come: 1 to 128 letters, digits, `_`, `.` and `-`. One process at a
	 * time may use it; a later one takes it over.
	 */
	readonly producer: string;
	/**
	 * Gives the next events, in the order of the outbox: those behind the one with this id, or the oldest for null. At most `max`;
	 * none: nothing is there yet. It may wait for them itself; the signal ends with the relay.
	 */
	readonly read: (after: string | null, max: number, signal: AbortSignal) => Promise<readonly Event[]>;
	/** Called when everything up to the event with this id has come as far as `until` says: the rows may be deleted. Awaited. */
	readonly relayed?: (id: string) => unknown;
	/** `persisted` (default): on the sidecar's disk. `stored`: the store of each stream has it. */
	readonly until?: (typeof LEVELS)[number];
	/** Events that `read` is asked for at once. Default 500; 100 to 5000 is sensible, at most 65536. */
	readonly eventsMax?: number;
	/** How long to wait before the next `read` when there was nothing to read, in milliseconds. Default 1000. */
	readonly pollMs?: number;
	/** Ends the relay, which then resolves. */
	readonly signal?: AbortSignal;
}

export interface ResolvedRelayOptions {
	readonly producer: string;
	readonly read: RelayOptions['read'];
	readonly relayed: (id: string) => unknown;
	readonly until: (typeof LEVELS)[number];
	readonly eventsMax: number;
	readonly pollMs: number;
	readonly signal: AbortSignal | undefined;
}

const OPTION_NAMES: readonly (keyof RelayOptions)[] = [
	...(['producer', 'read', 'relayed', 'until', 'eventsMax', 'pollMs', 'signal'] as const),
];

/** Throws a RangeError or a TypeError naming the option. */
export function resolveRelay(options: RelayOptions): ResolvedRelayOptions {
	if (!isObject(options)) throw wrongType('options', 'an object', options);
	knownMembers('option', options, OPTION_NAMES);
	const { producer, read, relayed = () => undefined, until = 'persisted', signal } = options;
	const { eventsMax = DEFAULT_RELAY_EVENTS_MAX, pollMs = DEFAULT_RELAY_POLL_MS } = options;
	if (!isStreamName(producer)) {
		throw wrongType('producer', `1 to ${STREAM_NAME_LENGTH_MAX} letters, digits, "_", "." or "-"`, producer);
	}
	if (typeof read !== 'function') throw wrongType('read', 'a function', read);
	if (typeof relayed !== 'function') throw wrongType('relayed', 'a function', relayed);
	oneOfOption('until', until, LEVELS);
	return {
		...{ producer, read, relayed, until },
		eventsMax: integerOption('eventsMax', eventsMax, 1, EVENTS_MAX),
		pollMs: durationMsOption('pollMs', pollMs),
		signal: signalOption('signal', signal),
	};
}
