import type { EventSchema, EventUpgrades } from './consume/event-shapes.ts';
import type { AnyRelayedEvent } from './produce/relay-options.ts';

/**
 * The known streams, as names of members, and what their events are. Empty here: an app fills it by a module augmentation, or
 * gives a type of its own to `openEvents`, so that unknown streams and other payloads fail to compile.
 *
 *     declare module '@spock/client/events' {
 *       interface KnownEvents { orders: Order }
 *     }
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is there to be augmented.
export interface KnownEvents {}

/** The name of a stream: one of `Streams`; any text while those are empty. */
export type StreamName<Streams extends object = KnownEvents> = keyof Streams extends never
	? string
	: Extract<keyof Streams, string>;

/** A stream that can be consumed: also that of the dead letters of another one, whose payloads are the same. */
export type ConsumedStream<Name extends string> = Name | `${Name}.dead`;

/** What an event of a stream is: a JSON value, or bytes; anything while no streams are known. */
export type EventPayloadOf<Streams extends object, Name extends string> = Name extends keyof Streams
	? Streams[Name]
	: unknown;

/** An event as it is read from an outbox. */
export type RelayedEvent<Streams extends object = KnownEvents> = AnyRelayedEvent &
	{
		readonly [Name in StreamName<Streams>]: {
			readonly stream: Name;
			readonly payload: EventPayloadOf<Streams, Name>;
		};
	}[StreamName<Streams>];

/** A schema for each stream that has one; what it gives is what its consumers get. */
export type EventSchemas<Streams extends object = KnownEvents> = {
	readonly [Name in StreamName<Streams>]?: EventSchema<EventPayloadOf<Streams, Name>>;
};

/** For each stream whose payloads have changed their shape, what makes a payload of the next version of an older one. */
export type StreamUpgrades<Streams extends object = KnownEvents> = {
	readonly [Name in StreamName<Streams>]?: EventUpgrades;
};
