import type { WireError } from '../errors/spock-error.ts';

/** An event as its producer gives it. Writers put the members in this order, `payload` last: readers then need not parse the head. */
export interface EventData {
	/** Where it goes: 1 to 128 letters, digits, `_`, `.` and `-`. */
	readonly stream: string;
	/** Events of one key keep their order towards a group that asks for it. 1 to 512 characters. */
	readonly key?: string;
	/** By it a repetition within two minutes is recognised, also after a restart of the producer. 1 to 128 characters. */
	readonly id?: string;
	/** When it happened, by the producer's clock, in milliseconds since 1970. Default: not told. */
	readonly at?: number;
	/** Version of the payload's shape, from 1. Default 1. */
	readonly version?: number;
	/** `base64`: the payload is a string that stands for bytes. Default: it is the JSON value itself. */
	readonly encoding?: 'base64';
	/** Where in which trace it was made: W3C Trace Context. */
	readonly traceparent?: string;
	/** At most 32, for programs between producer and consumer. */
	readonly headers?: Readonly<Record<string, string>>;
	/** Any JSON value. The sidecar keeps its text as it came. */
	readonly payload: unknown;
}

/** How far an event must have come: on the sidecar's disk, or in the store of its stream. */
export type EventLevel = 'persisted' | 'stored';

/** A producer announces itself on its call line. */
export interface OpenProducerData {
	/** A UUID of the process, or a name that a later process may take. 1 to 128 letters, digits, `_`, `.` and `-`. */
	readonly producer: string;
	/** Of a producer that comes back: what it was told. Absent: a new one, which gets the next epoch of its name. */
	readonly epoch?: number;
	/** The last `persisted` that it was told; what is not above has been forgotten by it. Default 0. */
	readonly persisted?: number;
	/**
	 * Its `seq` ascends and need not count by one, as where they are positions of a log. The sidecar must have the feature `gaps`. The log goes on from what
	 * it has, whatever `persisted` says, and a refused event ends its uplink and takes no place. The same at each opening of an epoch. Default false.
	 */
	readonly gaps?: boolean;
}

/**
 * How much a producer may have sent beyond `persisted`. Both 0: nothing now. It may send while it has sent less than both: so one
 * event may go beyond the bytes, and one that is larger than the window still goes.
 */
export interface EventWindow {
	/** Of the texts of their data, in UTF-8. */
	readonly bytes: number;
	readonly events: number;
	/** Why it is 0, for people. Absent while it is not. */
	readonly reason?: string;
}

/** Where a producer goes on. */
export interface OpenProducerReply {
	readonly producer: string;
	readonly epoch: number;
	/** Every `seq` up to this one is on disk, or was refused: go on with the next. */
	readonly persisted: number;
	/** For each stream of this producer, the last `seq` that its store holds. */
	readonly stored: Readonly<Record<string, number>>;
	readonly window: EventWindow;
	/** Longest text of an event's data, in bytes of UTF-8. */
	readonly eventBytesMax: number;
	/** Lets one connection carry the events of this producer: given with `uplink`, once. */
	readonly ticket: string;
	/** Refused events above the `persisted` that the producer was told. Absent: none. */
	readonly refused?: readonly RefusedEvent[];
	/** The newest events of this epoch that a store has refused, told before or not. Absent: none. */
	readonly refusedByStore?: readonly RefusedEvent[];
	/**
	 * Where an epoch begins: the `id` of the last event with one that earlier epochs of this name left in the log, up to the first that
	 * was refused. Absent: none had an id.
	 */
	readonly lastId?: string;
}

/** An event that was taken out of its producer's sequence, and is stored nowhere; or one that its store refused. */
export interface RefusedEvent {
	readonly seq: number;
	readonly code: WireError['code'];
	readonly message: string;
}

/** Push on the call line: what has become of a producer's events. */
export interface AckedData {
	readonly producer: string;
	readonly epoch: number;
	readonly persisted: number;
	/** Streams whose number has grown. Absent: none. */
	readonly stored?: Readonly<Record<string, number>>;
	/** Those of them that were refused. Absent: none. */
	readonly refused?: readonly RefusedEvent[];
	/** Events on disk that the store of their stream never takes: they are in the stream with `.refused` behind its name. Absent: none. */
	readonly refusedByStore?: readonly RefusedEvent[];
}

/** Push on the call line: a producer's window from now on. */
export interface EventWindowData extends EventWindow {
	readonly producer: string;
	readonly epoch: number;
}

/** One event by a request, on any connection: for programs without a producer. */
export interface PublishData extends EventData {
	/** When it is answered. Default `persisted`. */
	readonly until?: EventLevel;
}

export interface PublishReply {
	/** Its position, or that of the first event with this id. Positions grow by time; within a stream there are gaps. */
	readonly position: number;
	/** True for an id that was seen within two minutes: nothing was stored again. */
	readonly duplicate: boolean;
}

/** Where a reader begins: with the next event, the oldest that is kept, that of a position, or the first since a time (ms since 1970). */
export type ConsumeFrom = 'new' | 'first' | { readonly position: number } | { readonly time: number };

/** `key`: no two events of a key are out at a time. `stream`: no two of the stream. `none`: as many as fit. */
export type ConsumeOrder = 'none' | 'key' | 'stream';

/** Which events are sent at all; the others count as acked. */
export interface EventFilter {
	/** Its key is one of these. */
	readonly keys?: readonly string[];
	/** It has each of these headers, with this value. */
	readonly headers?: Readonly<Record<string, string>>;
}

/** Begins to consume a stream on this connection. */
export interface OpenConsumerData {
	readonly stream: string;
	/** Members of a group share its events, and what one acked no other gets. Absent: a reader of its own, which is forgotten at its end. */
	readonly group?: string;
	/** For a group: where it begins if it is new. Default `new`. */
	readonly from?: ConsumeFrom;
	/** Most events that are out. Default 64. */
	readonly inFlightMax?: number;
	/** An event that is neither acked nor extended for so long is delivered again. Default 30000. */
	readonly ackWaitMs?: number;
	/** Deliveries of one event before it goes to the stream `<stream>.dead`. Default 5; 0: without end. */
	readonly attempts?: number;
	/** One for a group: a member that wants another is refused. Default `none`. */
	readonly order?: ConsumeOrder;
	readonly filter?: EventFilter;
}

export interface OpenConsumerReply {
	/** Names it on this connection. */
	readonly consumer: number;
	/** The first event that it may get. */
	readonly position: number;
}

/** One event on its way to a consumer. */
export interface DeliveredEvent {
	/** Names this delivery towards `ack` and the like; of this consumer alone. */
	readonly n: number;
	/** 1, and one more each time that it is delivered again. */
	readonly delivery: number;
	readonly position: number;
	/** When the sidecar took it, in milliseconds since 1970. */
	readonly time: number;
	/** As its producer gave it. */
	readonly event: EventData;
}

/** Push: events of a consumer of this connection. */
export interface DeliverData {
	readonly consumer: number;
	/**
	 * Changes when its group is rewound, and when it is deleted and begins anew: an event that comes again with the same number was never acked on
	 * the sidecar's disk. Absent: 0.
	 */
	readonly rewinds?: number;
	readonly events: readonly DeliveredEvent[];
}

/** Push: a consumer has ended, by no wish of its client. */
export interface ConsumerClosedData {
	readonly consumer: number;
	readonly error: WireError;
}

/** Ends a consumer. */
export interface CloseConsumerData {
	readonly consumer: number;
	/**
	 * The deliveries, of those that are neither acked nor returned, that somebody has begun to work on. The others count as never made: no
	 * attempt of them is used up. Absent: all count.
	 */
	readonly handed?: readonly number[];
}

/** Moves a group to another place in its stream. */
export interface RewindGroupData {
	readonly stream: string;
	readonly group: string;
	readonly to: ConsumeFrom;
}

export interface RewindGroupReply {
	/** The next event that the group gets. */
	readonly position: number;
}

/**
 * The group that keeps the place of `sidecar events dead --retry`. It keeps no event from being deleted: dead letters that nobody has
 * looked at would else fill the log.
 */
export const DEAD_RETRY_GROUP = 'sidecar-events-dead';

/** Forgets a group, which must have no members. */
export interface DeleteGroupData {
	readonly stream: string;
	readonly group: string;
}

/** Notices of a consumer: deliveries by their numbers. Unknown numbers are ignored: they were delivered again meanwhile. */
export interface AckData {
	readonly consumer: number;
	readonly n: readonly number[];
}

/** Deliver again, after `delayMs`. Default: 1 s, doubled with each delivery up to 5 min, with jitter. */
export interface NackData extends AckData {
	readonly delayMs?: number;
}

/** Never deliver again: it goes to `<stream>.dead` with this reason. */
export interface TermData extends AckData {
	readonly reason?: string;
}

/** What a stream holds. Positions are inclusive; null for a stream that holds nothing. */
export interface StreamStatus {
	readonly stream: string;
	/** The kind of store that keeps it. */
	readonly store: string;
	readonly first: number | null;
	readonly last: number | null;
	readonly events: number;
	readonly bytes: number;
	/** When the last one came, in milliseconds since 1970. */
	readonly lastAt: number | null;
	/** Events that the store does not hold yet. */
	readonly unstored: number;
}

export interface GroupStatus {
	readonly stream: string;
	readonly group: string;
	readonly order: ConsumeOrder;
	readonly consumers: number;
	/** Every event below is done. */
	readonly position: number;
	/** Events that are not done; null where the store is elsewhere, which is not asked for it. */
	readonly lag: number | null;
	/** Delivered, and neither acked nor given back. */
	readonly out: number;
	/** Waiting for their next delivery. */
	readonly backingOff: number;
	/** Since the oldest delivery that is not acked, in milliseconds; null when none is out. */
	readonly oldestUnackedMs: number | null;
}

/** A store elsewhere that cannot be used now. */
export interface StoreFault {
	readonly stream: string;
	/** The kind of store that keeps the stream. */
	readonly store: string;
	/** What fails: sending events there, or reading them for consumers. */
	readonly doing: 'sending' | 'reading';
	readonly reason: string;
	/** Since when, in milliseconds. */
	readonly forMs: number;
}

/** Events in the answer to `status`. */
export interface EventsStatus {
	readonly state: string;
	/** Why nothing is taken now; null while events are taken. */
	readonly reason: string | null;
	readonly directory: string;
	/** What the log takes on disk, and may take. */
	readonly bytes: number;
	readonly bytesMax: number;
	/** Next position. */
	readonly next: number;
	readonly producers: number;
	readonly unstored: number;
	readonly oldestUnstoredMs: number | null;
	/** Of all windows that producers have now, in bytes. */
	readonly windowBytes: number;
	/** Records that were found damaged since the start. */
	readonly damaged: number;
	/** Ids of events that were forgotten before their time, because there were too many; since the start. */
	readonly idsForgotten: number;
	/** The first 256 of each. */
	readonly streams: readonly StreamStatus[];
	readonly groups: readonly GroupStatus[];
	/** Absent from sidecars of an earlier version. */
	readonly storeFaults?: readonly StoreFault[];
}
