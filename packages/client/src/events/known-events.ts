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

/** What an event of a stream is: a JSON value, or bytes; anything while no streams are known. */
export type EventPayloadOf<Streams extends object, Name extends string> = Name extends keyof Streams
	? Streams[Name]
	: unknown;

/**
 * A validator in the form of https://standardschema.dev, as Zod, Valibot and ArkType make them. It is given a payload and must answer
 * at once.
 */
export interface EventSchema {
	readonly '~standard': {
		readonly validate: (
			value: unknown,
		) =>
			| { readonly value: unknown; readonly issues?: undefined }
			| { readonly issues: readonly { readonly message: string }[] }
			| Promise<unknown>;
	};
}

/** A schema for each stream that has one. */
export type EventSchemas<Streams extends object = KnownEvents> = {
	readonly [Name in StreamName<Streams>]?: EventSchema;
};
