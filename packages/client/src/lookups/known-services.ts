import type { ServiceQuery } from '@spock/protocol';

/**
 * The services that there are, as names of members. Empty here: `sidecar typegen` writes a file that fills it, by a module
 * augmentation, and then a name that is none of them does not compile.
 *
 *     declare module '@spock/client' {
 *       interface KnownServices { barista: true }
 *     }
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is there to be augmented.
export interface KnownServices {}

/** The name of a service: one of {@link KnownServices}; any text while those are empty. */
export type ServiceName = keyof KnownServices extends never ? string : Extract<keyof KnownServices, string>;

/** A question for a service by a name that is known. */
export interface KnownServiceQuery extends ServiceQuery {
	readonly service: ServiceName;
}
